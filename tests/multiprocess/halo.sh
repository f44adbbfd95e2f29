#!/usr/bin/env bash
# Runs `duet halo` as several processes: halo.sh PROGRAM [killed] [DEVICE]. One is killed, or stopped, in
# the middle of a case: the others end and say which rank is gone. killed: nothing else is tested.
set -euo pipefail
program=$(realpath "$1")
part=${2:-all}
device=${3:-host}
processes=${PROCESSES:-3}  # of which one is killed or stopped
source "$(dirname "$0")/../ports.sh"
source "$(dirname "$0")/ends.sh"
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
export DUET_TUNING=$folder/tuning.json  # not the user's
failures=0
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT

fail() {
  echo "FAIL: $*" >&2
  tail -n +1 out* err* >&2 || true
  failures=$((failures + 1))
}

# start SIZE ARGUMENT...: that many processes in the background; pids in pids.
start() {
  local size=$1 rank
  shift
  rm -f out.* err.*
  port=$((port + 1))
  pids=()
  for ((rank = 0; rank < size; ++rank)); do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$port RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$size \
      "$program" halo --device "$device" "$@" > out.$rank 2> err.$rank &
    pids+=($!)
  done
}

short=(--nx 37 --ny 11 --iterations 3 --warm-up 0)
# ends SIGNAL ENGINE SECONDS: rank 1 gets the signal; the others end by then and name it.
ends() {
  local begin code rank
  start "$processes" --nx 512 --ny 300 --engine "$2" --overlap yes --norm device --mode sustained --seconds 600
  sleep 2
  begin=$SECONDS
  kill "-$1" "${pids[1]}"
  for ((rank = 0; rank < processes; ++rank)); do
    [[ $rank == 1 ]] && continue
    code=0
    wait "${pids[$rank]}" 2> /dev/null || code=$?
    [[ $code == 1 ]] || fail "$1 $2: process $rank ended with $code, expected 1"
  done
  kill -9 "${pids[1]}" 2> /dev/null || true
  wait "${pids[1]}" 2> /dev/null || true
  grep -Eq "(rank|process) 1 \(pid ${pids[1]} on .*\) .*gone" out.0 err.0 || fail "$1 $2: it is not said who is gone"
  ((SECONDS - begin <= $3)) || fail "$1 $2: took $((SECONDS - begin)) s to end"
}

if [[ $part == all ]]; then
  start 3 "${short[@]}" --engine dma,kernel --norm all --scaling strong --json a.jsonl
  all_end_with 0
  [[ $(grep -c '"benchmark":"halo",.*"verified":true' a.jsonl) == 32 ]] || fail "all verified"
  [[ $(grep -c '"benchmark":"halo_scaling"' a.jsonl) == 16 ]] || fail "scaling"

  if command -v mpirun > /dev/null; then
    for size in 2 3; do
      timeout 100 mpirun -n $size --oversubscribe --allow-run-as-root "$program" halo --device host \
        --nx 37 --ny 11 --iterations 3 --warm-up 0 --engine mpi --norm all --json mpi.$size.jsonl \
        > out.0 2> err.0 || fail "mpi on $size ranks"
      [[ $(grep -c '"engine":"mpi",.*"verified":true' mpi.$size.jsonl) == 8 ]] || fail "mpi on $size ranks: all verified"
    done
  fi

  start 2 "${short[@]}" --engine host
  all_end_with 1
  grep -q 'threads of one process, not 2' out.0 || fail "the reference is skipped"
  start 2 "${short[@]}" --engine dma --ranks 1,2
  all_end_with 0
  start 3 "${short[@]}" --engine dma --ranks 2
  all_end_with 1
  grep -q 'with several processes a grid has one rank or all 3' out.0 || fail "a part of the ranks"
  start 2 --nx 37 --ny 1 --engine dma
  all_end_with 2
  [[ $(cat err.*) == *"ny 1: expected at least a row for each of 2 ranks"* ]] || fail "too few rows"
fi
for engine in dma kernel; do ends KILL $engine 15; done
ends STOP dma 30  # of which 10 s for the answer that does not come
exit $((failures > 0))
