#!/usr/bin/env bash
# A process that is stopped before its call of a collective: stopped_rank.sh PROGRAM. Nothing moves
# then, no rail counts as stalled in this time, and no gather waits: the others ask each other, and end
# with an error that names it. One that computes for longer than an answer may take is waited for.
set -euo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/../ports.sh"
folder=$(mktemp -d)
cd "$folder"
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
export MASTER_ADDR=127.0.0.1 WORLD_SIZE=3
failures=0

# late ENGINE NODES HOW RANK TEXT: the other ranks, and RANK too if it is not stopped, say the text.
late() {
  local what="$*" rank code
  export MASTER_PORT=$((++port))
  pids=()
  for rank in 0 1 2; do
    RANK=$rank LOCAL_RANK=$rank "$program" "${@:1:4}" > "out.$rank" 2> "err.$rank" &
    pids+=($!)
  done
  for rank in 0 1 2; do
    [[ $3 == stopped && $rank == "$4" ]] && continue
    code=0
    wait "${pids[$rank]}" || code=$?
    if ((code != 0)) || ! grep -Eq "$5" "out.$rank"; then
      echo "FAIL: $what: rank $rank ended with $code: $(cat "out.$rank" "err.$rank")" >&2
      failures=1
    fi
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
exit $failures
