#!/usr/bin/env bash
# Runs `duet collective` as several processes: duet.sh PROGRAM. What needs the engine mpi is left out
# where mpirun is not there.
program=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"
source "$here/ends.sh"

devices=()     # by process, where they differ
algorithms=()  # likewise
collective() {
  [[ ${#devices[@]} == 0 ]] || set -- "$@" --device "${devices[RANK]}"
  DUET_ALGORITHM=${algorithms[RANK]:-} DUET_TUNING=$folder/tuning.$RANK.json \
    exec timeout 100 "$program" collective "$@"
}

# Only process 0 speaks, and what is wrong in one or all is said once.
spoken_once() {
  local file
  for file in out.[1-9] err.[1-9]; do
    [[ ! -s $file ]] || fail "a process other than 0 spoke: $file"
  done
}

short=(-b 64K --iterations 3 --warm-up 0)
start 3 collective all_gather --engine host "${short[@]}" --json a.jsonl
all_end_with 1
says err.0 "nothing was measured: 2 skipped: .*threads of one process, not 3.* \(2\)$"
says out.0 "threads of one process, not 3"
[[ $(grep -c '"type":"environment"' a.jsonl) == 1 ]] || fail "one environment"
[[ $(grep -c '"outcome":"skipped"' a.jsonl) == 2 ]] || fail "a record a case"
says a.jsonl '"processes":3'

# What the processes see of their links differs: all go by the same.
devices=(host:2 host)
start 2 collective broadcast,reduce_scatter --engine dma,kernel -b 9M --iterations 3 --warm-up 0 \
  --json unequal.jsonl
all_end_with 0
spoken_once
[[ $(grep -c '"ranks":3.*"verified":true' unequal.jsonl) == 8 ]] || fail "unequal devices"
devices=()

# Groups with a rank of each process, beside groups of each process's own ranks.
devices=(host:2 host:2)
start 2 collective all_reduce --groups 2x2:strided --beside all_gather:64K --beside-groups 2x2 \
  --engine dma "${short[@]}" --in-place out --json groups.jsonl
all_end_with 0
spoken_once
[[ $(grep -c '"benchmark":"collective_groups".*"verified":true' groups.jsonl) == 1 ]] || fail "groups of two processes"
says groups.jsonl '"groups":"all_reduce 0 2; all_reduce 1 3; all_gather 0-1; all_gather 2-3"'
devices=()

# Neighbours of nodes that map each other's memory push to each other.
start 2 collective neighbor_exchange --device host --node-size 1 --engine dma,kernel "${short[@]}" --json neighbors.jsonl
all_end_with 0
[[ $(grep -c '"verified":true' neighbors.jsonl) == 4 ]] || fail "neighbours of two nodes"

# Over nodes each process plans for itself.
algorithms=("" nodes-gather)
start 2 collective all_gather --device host --node-size 1 --engine dma "${short[@]}"
all_end_with 1
says err.0 "DUET_ALGORITHM: expected the same on all ranks, not - and nodes-gather"
algorithms=()

# Process 0 tunes, and its file holds for all: that of another process is not even read.
start 2 collective all_gather --tune -b 64K -e 128K --iterations 3 --warm-up 0
all_end_with 0
spoken_once
says out.0 "^auto: stored for 2 x .* in several processes in $folder/tuning.0.json$"
[[ ! -e tuning.1.json ]] || fail "process 1 stored something"
sed -i 's/"all_gather": .*/"all_gather": 0/' tuning.0.json
echo '{' > tuning.1.json
start 2 collective all_gather --engine auto "${short[@]}" --json auto.jsonl
all_end_with 0
[[ $(grep -c 'direct pushes' auto.jsonl) == 2 ]] || fail "auto does not go by process 0's file"
echo '{' > tuning.0.json
start 2 collective all_gather --engine auto "${short[@]}"
all_end_with 2
says err.0 "tuning file $folder/tuning.0.json: expected JSON"
rm tuning.*
says a.jsonl '"ranks":3'
spoken_once

start 2 collective all_gather --device sim:h200-4 "${short[@]}"
all_end_with 2
says err.0 "a simulated machine runs in one process, not 2"
spoken_once

start 2 collective all_gather --engine warp "${short[@]}" --json a.jsonl
all_end_with 2
[[ $(wc -l < err.0) == 1 ]] || fail "one line"
spoken_once

start 2 collective all_gather --engine host "${short[@]}" --json a.jsonl  # it has contents
all_end_with 2
spoken_once

# Tasks of srun that MPI does not connect, but a job script's variables.
SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=2 start 2 collective all_gather --device host:1 "${short[@]}"
all_end_with 0
says out.0 "2 processes"

refuses "RANK is not set" WORLD_SIZE=2 "$program" collective all_gather
refuses "expected MASTER_ADDR" RANK=0 WORLD_SIZE=2 "$program" collective all_gather
# As tasks of srun without MPI are, or with another one than Duet's.
refuses "expected MASTER_ADDR" SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=2 "$program" collective all_gather --device host:1
refuses "duet copy runs in one process" RANK=0 WORLD_SIZE=2 "$program" copy --device host:2
refuses "duet gemm runs in one process" RANK=0 WORLD_SIZE=2 "$program" gemm
refuses "duet run runs in one process" OMPI_COMM_WORLD_SIZE=3 "$program" run quick

if ! command -v mpirun > /dev/null || [[ ! -e $(dirname "$program")/modules/duet_mpi.so ]]; then
  finish
fi
rm -f out.* err.*
many() {  # PROCESSES ARGUMENT...
  local processes=$1
  shift
  timeout 100 mpirun --oversubscribe --allow-run-as-root -n "$processes" "$program" collective \
    all_gather,all_reduce,all_to_all --engine mpi --device host "$@" > out.0 2> err.0
}
for processes in 2 3; do
  journal=$processes.jsonl
  many $processes "${short[@]}" --json $journal || fail "mpirun -n $processes"
  [[ $(grep -c "collective on host" out.0) == 1 ]] || fail "one table"
  says out.0 "6 cases: 6 measured"
  [[ $(grep -c '"type":"environment"' $journal) == 1 ]] || fail "one environment"
  [[ $(grep -c '"verified":true' $journal) == 6 ]] || fail "each case once, verified"
  [[ $(grep -c "\"ranks\":$processes" $journal) == 6 ]] || fail "all ranks"
  last=$(grep -n '"type":"result"' "$journal" | tail -1 | cut -d: -f1)
  sed -i "$last,\$d" "$journal"
  many $processes "${short[@]}" --json $journal --resume || fail "resume"
  says out.0 "6 cases: 6 measured \(5 by the earlier run\)"
done

# A journal of other processes is not gone on with.
many 2 "${short[@]}" --json 3.jsonl --resume && fail "a journal of 3 processes gone on with by 2"
says err.0 "3.jsonl is of a run of 3 processes, this run is of 2 processes: expected as many"

# Ctrl-C in one stops all in order.
sustained=(-b 64K --mode sustained --seconds 20 --warm-up 0)
code=0
many 2 "${sustained[@]}" --json c.jsonl & run=$!
for _ in $(seq 200); do [[ -s c.jsonl ]] && break; sleep 0.1; done
sleep 2
kill -INT "$(pgrep -n -f "^$program collective .*c.jsonl")"
begin=$SECONDS
wait $run || code=$?
[[ $code == 1 ]] || fail "interrupted: exit $code"
((SECONDS - begin <= 15)) || fail "interrupted: took $((SECONDS - begin)) s"
says err.0 "interrupted after 0 of 6 cases; resume with: mpirun -n 2 $program .* --resume$"

# One that is killed ends all, by mpirun or by its own connection; the journal is kept.
code=0
rm -f out.* err.*
many 3 "${sustained[@]}" --json k.jsonl & run=$!
sleep 3
kill -9 "$(pgrep -n -f "^$program collective .*k.jsonl")"
begin=$SECONDS
wait $run || code=$?
[[ $code != 0 ]] || fail "killed: exit $code"
((SECONDS - begin <= 15)) || fail "killed: took $((SECONDS - begin)) s"
[[ $(grep -c '"type":"environment"' k.jsonl) == 1 ]] || fail "killed: the journal is kept"
finish
