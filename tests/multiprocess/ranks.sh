#!/usr/bin/env bash
# Runs team_ranks as several processes: ranks.sh PROGRAM [DEVICE [PROCESSES]]. With a DEVICE (cuda),
# only what is of interest there.
set -euo pipefail
program=$(realpath "$1")
source "$(dirname "$0")/../ports.sh"
source "$(dirname "$0")/ends.sh"
device=${2:-host}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
export MASTER_ADDR=127.0.0.1
unset RANK WORLD_SIZE LOCAL_RANK

fail() {
  echo "FAIL: $*" >&2
  tail -n +1 err.* >&2 || true
  failures=$((failures + 1))
}

# A port of its own for every run: one that was used may still be closing.
new_run() {
  rm -f err.*
  export MASTER_PORT=$((++port))
}

# start SIZE SCENARIO DEVICE...: one process for each device, in the background; their pids in pids.
start() {
  local size=$1 scenario=$2 rank=0
  shift 2
  new_run
  pids=()
  for each; do
    RANK=$rank WORLD_SIZE=$size LOCAL_RANK=$rank "$program" "$scenario" --device "$each" 2> err.$rank &
    pids+=($!)
    rank=$((rank + 1))
  done
}

# dies SCENARIO INDEX NAME: kills process INDEX while the others wait; they end within 5 s and say
# its name, its pid and what they waited for.
dies() {
  start 3 "$1" host host host
  sleep 1.5
  local victim=${pids[$2]} begin=$SECONDS
  kill -9 "$victim"
  wait "$victim" 2> /dev/null || true
  unset "pids[$2]"
  pids=("${pids[@]}")
  all_end_with 1
  ((SECONDS - begin <= 5)) || fail "$1: took $((SECONDS - begin)) s to notice that process $2 died"
  local rank
  for rank in 0 1 2; do
    [[ $rank == "$2" ]] && continue
    grep -q "$3 (pid $victim on .*) is gone while waiting for" err.$rank || fail "$1: err.$rank of $2"
  done
}

refuses() {  # TEXT VARIABLE=VALUE...
  local text=$1 code=0
  shift
  rm -f err.*
  env -u MASTER_ADDR -u MASTER_PORT "$@" "$program" barriers 2> err.0 || code=$?
  [[ $code == 2 && $(wc -l < err.0) == 1 ]] || fail "$*: exit $code"
  grep -q -- "$text" err.0 || fail "$*: expected '$text'"
}

if [[ $device != host ]]; then
  devices=()
  for ((i = 0; i < ${3:-2}; ++i)); do devices+=("$device"); done
  start "${3:-2}" memory "${devices[@]}"
  all_end_with 0
  exit $((failures > 0))
fi

for scenario in barriers fail sample memory; do
  start 3 "$scenario" host host:3 host:2
  all_end_with 0
done

dies barrier 2 "rank 2"
dies semaphore 2 "rank 2"
dies barrier 0 "process 0"

start 3 barriers host host  # the third never comes
all_end_with 1
grep -q "process 2 of 3 has not connected" err.0 || fail "who never came"
new_run
pids=()
RANK=1 WORLD_SIZE=2 "$program" barriers 2> err.1 & pids+=($!)
all_end_with 1
grep -q "waiting for process 0 at 127.0.0.1 port $MASTER_PORT" err.1 || fail "no hub"

refuses "RANK is not set" WORLD_SIZE=2
refuses "WORLD_SIZE is not set" RANK=1
refuses "RANK=2: expected a number from 0 to 1" RANK=2 WORLD_SIZE=2
refuses "WORLD_SIZE=two: expected a number" RANK=0 WORLD_SIZE=two
refuses "expected MASTER_ADDR" RANK=0 WORLD_SIZE=2
refuses "MASTER_PORT=0" RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=0

new_run
pids=()
RANK=0 WORLD_SIZE=2 "$program" barriers 2> err.0 & pids+=($!)
sleep 0.5
code=0
RANK=1 WORLD_SIZE=3 "$program" barriers 2> err.1 || code=$?
[[ $code == 2 ]] && grep -q "expected the number of processes" err.1 || fail "another WORLD_SIZE"
RANK=1 WORLD_SIZE=2 "$program" barriers 2> err.1 & pids+=($!)
all_end_with 0

if command -v mpirun > /dev/null && [[ -e $(dirname "$program")/../modules/duet_mpi.so ]]; then
  unset MASTER_ADDR MASTER_PORT
  for scenario in barriers fail sample memory; do
    rm -f err.*
    mpirun --oversubscribe --allow-run-as-root -n 3 "$program" "$scenario" --device host:2 2> err.0 ||
      fail "mpirun $scenario"
  done
fi
exit $((failures > 0))
