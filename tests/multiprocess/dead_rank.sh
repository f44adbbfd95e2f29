#!/usr/bin/env bash
# Kills one process in the middle of a loop of collectives: [PROCESSES=N] dead_rank.sh PROGRAM DEVICE
# ENGINE... (three by default). The others end within seconds and say which rank is gone
# and in which call they were, also where the waits are a device's own (semaphores of streams, words of
# kernels) and no barrier is involved. On GPUs the driver takes some of these seconds to take contexts down.
set -euo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/../ports.sh"
device=$2
shift 2
folder=$(mktemp -d)
cd "$folder"
pids=()
trap 'kill -9 "${pids[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
failures=0
export MASTER_ADDR=127.0.0.1 WORLD_SIZE=${PROCESSES:-3}
last=$((WORLD_SIZE - 1))
limit=5
[[ $device == host ]] || limit=10

fail() {
  echo "FAIL: $*" >&2
  tail -n +1 out.* err.* >&2 || true
  failures=$((failures + 1))
}

running() { [[ $(grep -ls looping out.* | wc -l) == "$WORLD_SIZE" ]]; }

# dies ENGINE INDEX NAME COLLECTIVE [own]: kills process INDEX, which messages call NAME; own: in
# memory that the others cannot map.
dies() {
  local what="$1, $4, process $2${5:+, own memory}" rank code
  rm -f out.* err.*
  export MASTER_PORT=$((++port))
  pids=()
  for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
    RANK=$rank LOCAL_RANK=$rank timeout -s KILL 60 "$program" "$1" "$device" "${5:+own }loop $4" \
      > out.$rank 2> err.$rank &
    pids+=($!)
  done
  for ((i = 0; i < 100; ++i)); do
    running && break
    sleep 0.2
  done
  running || { fail "$what: not all began"; return; }
  sleep 0.3
  local victim begin=$SECONDS
  victim=$(sed -n 's/^looping as pid //p' out."$2")
  kill -9 "$victim"
  for ((rank = 0; rank < WORLD_SIZE; ++rank)); do
    code=0
    wait "${pids[$rank]}" 2> /dev/null || code=$?
    [[ $rank == "$2" ]] && continue
    [[ $code == 1 ]] || fail "$what: process $rank ended with $code, expected 1"
    grep -q "$3 (pid $victim on .*) is gone while waiting for .*$4" err.$rank ||
      fail "$what: process $rank does not say who is gone, and in what"
  done
  ((SECONDS - begin <= limit)) || fail "$what: took $((SECONDS - begin)) s to end"
}

for engine; do
  dies "$engine" $last "rank $last" all_reduce
  if [[ $engine == dma ]]; then dies "$engine" 1 "rank 1" broadcast; fi
  dies "$engine" 1 "rank 1" all_gather
  dies "$engine" 0 "process 0" all_to_all
  if [[ $device == host && $engine == dma ]]; then
    dies dma 1 "rank 1" all_to_all own
    dies dma 0 "process 0" all_reduce own
  fi
done
exit $((failures > 0))
