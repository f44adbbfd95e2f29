#!/usr/bin/env bash
# Collectives on memory that other processes cannot map: own_memory.sh PROGRAM, which is
# collective_ranks. dma and auto send through slots; kernel says why it cannot.
set -euo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/../ports.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
unset LOCAL_RANK
export MASTER_ADDR=127.0.0.1
export DUET_TUNING=/nowhere/tuning.json  # not the user's

# all_end_with CODE PROCESSES ENGINE
all_end_with() {
  local code=$1 engine=$3 rank end pids=()
  export WORLD_SIZE=$2 MASTER_PORT=$((++port))
  for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
    RANK=$rank timeout 100 "$program" "$engine" host own > out.$rank 2> err.$rank &
    pids+=($!)
  done
  for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
    end=0
    wait "${pids[$rank]}" || end=$?
    [[ $end == "$code" ]] && continue
    echo "FAIL: $engine, process $rank of $WORLD_SIZE: exit $end, expected $code" >&2
    tail -n +1 err.* >&2
    failures=$((failures + 1))
  done
}

for engine in dma auto; do
  all_end_with 0 2 $engine
  all_end_with 0 3 $engine
done
all_end_with 1 2 kernel
grep -q "the other ranks' receive buffers: rank 0: memory of rank 1" err.0 || {
  cat err.0 >&2
  failures=$((failures + 1))
}
exit $((failures > 0))
