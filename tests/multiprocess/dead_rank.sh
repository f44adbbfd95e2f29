#!/usr/bin/env bash
# Kills one process in the middle of a loop of collectives: [PROCESSES=N] dead_rank.sh PROGRAM DEVICE
# ENGINE... (three by default). The others end within seconds and say which rank is gone
# and in which call they were, also where the waits are a device's own (semaphores of streams, words of
# kernels) and no barrier is involved. On GPUs the driver takes some of these seconds to take contexts down.
program=$(realpath "$1")
device=$2
shift 2
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"
size=${PROCESSES:-3}
last=$((size - 1))
limit=5
[[ $device == host ]] || limit=10

running() { [[ $(grep -ls looping out.* | wc -l) == "$size" ]]; }

# dies ENGINE INDEX NAME COLLECTIVE [own]: kills process INDEX, which messages call NAME; own: in
# memory that the others cannot map.
dies() {
  local what="$1, $4, process $2${5:+, own memory}" rank
  start "$size" timeout -s KILL 60 "$program" "$1" "$device" "${5:+own }loop $4"
  for ((i = 0; i < 100; ++i)); do
    running && break
    sleep 0.2
  done
  running || { fail "$what: not all began"; return; }
  sleep 0.3
  local victim begin=$SECONDS
  victim=$(sed -n 's/^looping as pid //p' out."$2")
  kill -9 "$victim"
  wait "${pids[$2]}" 2> /dev/null || true
  unset "pids[$2]"
  all_end_with 1 "$what"
  for ((rank = 0; rank < size; ++rank)); do
    [[ $rank == "$2" ]] || says err.$rank "$3 \(pid $victim on .*\) is gone while waiting for .*$4" "$what"
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
finish
