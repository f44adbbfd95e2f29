#!/usr/bin/env bash
# A process that is stopped before its call of a collective: stopped_rank.sh PROGRAM. Nothing moves
# then, no rail counts as stalled in this time, and no gather waits: the others ask each other, and end
# with an error that names it. One that computes for longer than an answer may take is waited for.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

# late ENGINE NODES HOW RANK TEXT: the other ranks, and RANK too if it is not stopped, say the text.
late() {
  local what="$*" rank code
  start 3 "$program" "${@:1:4}"
  for rank in 0 1 2; do
    [[ $3 == stopped && $rank == "$4" ]] && continue
    code=0
    wait "${pids[$rank]}" || code=$?
    ((code == 0)) || fail "$what: rank $rank ended with $code"
    says "out.$rank" "$5" "$what"
  done
  kill -9 "${pids[@]}" 2> /dev/null || true
  wait
}

for engine in dma kernel; do
  late $engine node stopped 2 '^rank 2 \(pid .*\) has not answered for 2 s'
  late $engine node stopped 0 '^process 0 \(pid .*\) has not answered for 2 s'
  late $engine node busy 1 '^the call has ended'
done
if [[ -e $(dirname "$program")/../modules/duet_libfabric.so ]]; then
  late dma nodes stopped 2 'rank 2 \(pid .*\) has not answered for 2 s'
  late dma nodes busy 1 '^the call has ended'
else
  echo "left out: ranks of several nodes, which need the libfabric module"
fi
finish
