#!/usr/bin/env bash
# Runs team_ranks as several processes: ranks.sh PROGRAM [DEVICE [PROCESSES]]. With a DEVICE (cuda),
# only what is of interest there.
program=$(realpath "$1")
device=${2:-host}
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

# on_devices SIZE SCENARIO DEVICE...: one process for each device, which may be fewer than SIZE.
on_devices() {
  local size=$1 scenario=$2 each
  shift 2
  new_run
  for each; do one_of "$size" ${#pids[@]} "$program" "$scenario" --device "$each"; done
}

# dies SCENARIO INDEX NAME: kills process INDEX while the others wait; they end within 5 s and say
# its name, its pid and what they waited for.
dies() {
  on_devices 3 "$1" host host host
  sleep 1.5
  local victim=${pids[$2]} begin=$SECONDS rank
  kill -9 "$victim"
  wait "$victim" 2> /dev/null || true
  unset "pids[$2]"
  all_end_with 1
  ((SECONDS - begin <= 5)) || fail "$1: took $((SECONDS - begin)) s to notice that process $2 died"
  for rank in 0 1 2; do
    [[ $rank == "$2" ]] || says err.$rank "$3 \(pid $victim on .*\) is gone while waiting for" "$1"
  done
}

if [[ $device != host ]]; then
  devices=()
  for ((i = 0; i < ${3:-2}; ++i)); do devices+=("$device"); done
  on_devices "${3:-2}" memory "${devices[@]}"
  all_end_with 0
  finish
fi

for scenario in barriers fail sample memory; do
  on_devices 3 "$scenario" host host:3 host:2
  all_end_with 0
done

dies barrier 2 "rank 2"
dies semaphore 2 "rank 2"
dies barrier 0 "process 0"

on_devices 3 barriers host host  # the third never comes
all_end_with 1
says err.0 "process 2 of 3 has not connected"
new_run
one_of 2 1 "$program" barriers
all_end_with 1
says err.1 "waiting for process 0 at 127.0.0.1 port $port"

refuses "RANK is not set" WORLD_SIZE=2 "$program" barriers
refuses "WORLD_SIZE is not set" RANK=1 "$program" barriers
refuses "RANK=2: expected a number from 0 to 1" RANK=2 WORLD_SIZE=2 "$program" barriers
refuses "WORLD_SIZE=two: expected a number" RANK=0 WORLD_SIZE=two "$program" barriers
refuses "expected MASTER_ADDR" RANK=0 WORLD_SIZE=2 "$program" barriers
refuses "MASTER_PORT=0" RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=0 "$program" barriers

new_run
one_of 2 0 "$program" barriers
sleep 0.5
refuses "expected the number of processes" MASTER_ADDR=127.0.0.1 MASTER_PORT=$port RANK=1 WORLD_SIZE=3 "$program" barriers
one_of 2 1 "$program" barriers
all_end_with 0

if command -v mpirun > /dev/null && [[ -e $(dirname "$program")/../modules/duet_mpi.so ]]; then
  for scenario in barriers fail sample memory; do
    rm -f err.*
    mpirun --oversubscribe --allow-run-as-root -n 3 "$program" "$scenario" --device host:2 2> err.0 ||
      fail "mpirun $scenario"
  done
fi
finish
