#!/usr/bin/env bash
# A rank that is late, killed or stopped at a multiplication of a chain of collectives with rows: chain.sh PROGRAM.
# Late: all sums are right. Else the others end, and say who is gone.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

# gone SUMS HOW STEP TEXT: ranks 0 and 2 end with an error that has the text.
gone() {
  local what="$*" rank code
  start 3 timeout -s KILL 60 "$program" "${@:1:3}"
  for rank in 0 2; do
    code=0
    wait "${pids[$rank]}" || code=$?
    ((code == 1)) || fail "$what: rank $rank ended with $code"
    says "err.$rank" "$4" "$what"
  done
  kill -9 "${pids[1]}" 2> /dev/null || true
  wait "${pids[1]}" 2> /dev/null || true
  pids=()
}

for sums in by-compute in-slots; do
  start 3 "$program" $sums healthy 0
  all_end_with 0 "$sums"
  steps=$(sed -n 's/^steps //p' out.0)
  ((steps >= 12)) || fail "$sums: only '$steps' multiplications"
  for ((step = 0; step <= steps; ++step)); do
    start 3 "$program" $sums late $step
    all_end_with 0 "$sums, late at $step"
    gone $sums killed $step '(rank|process) 1 \(pid .*\) is gone'
  done
  for step in 0 $((steps / 2)) $steps; do
    gone $sums stopped $step 'rank 1 \(pid .*\) has not answered for 2 s'
  done
done
finish
