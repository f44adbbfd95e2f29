#!/usr/bin/env bash
# `srun -N 2 duet fabric` under a real Slurm, a node in each of two network namespaces that four
# rails of 1 Gbit/s join, and the job of deploy/slurm: slurm.sh PROGRAM.
source "$(dirname "$0")/check.sh"
[[ -e $(dirname "$duet")/modules/duet_mpi.so ]] || { echo "skipped: needs the MPI module"; exit 77; }
source "$here/cluster.sh"
open_rails 1gbit

# A process ID namespace for each node, without which Duet would take both for one machine: `in_node
# COMMAND...` on a node runs in it.
start_namespaces() {
  local node
  for node in node0 node1; do
    enter "$node" unshare --pid --fork --kill-child --mount-proc sleep 1000 &
    pids+=($!)
    until pgrep -P $! -x sleep > "$node/holder"; do sleep 0.1; done
  done
  cat > in_node << END
#!/bin/bash
exec nsenter --target "\$(cat $folder/node/holder)" --pid --mount "\$@"
END
  chmod +x in_node
}

# MPI, of the engine mpi, goes over the line on which the processes meet; it refuses root's unless told otherwise.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=c
common=(--rails r0,r1,r2,r3 --link-gbit 1 --warm-up 0)

# across TASKS_A_NODE OPTION... -- COMMAND...: processes that connect at node0, without MPI.
across() {
  local tasks=$1 options=()
  shift
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  MASTER_ADDR=10.77.9.1 MASTER_PORT=$((meeting_port + 100 + RANDOM % 800)) \
    within node0 timeout 100 srun --mpi=none -N 2 --ntasks-per-node="$tasks" "${options[@]}" bash -c \
    'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID
     unset SLURM_STEP_ID; exec "$@"' - "$@"
}

ends() {
  across 1 -- "$duet" fabric "${common[@]}" --csv table.csv "$@" > out.0 2> err.0
}

write_configuration
start_daemons
start_namespaces
wait_for_nodes
[[ $(across 1 -- "$duet" --version | wc -l) == 2 ]] || fail "srun starts one process a node"
# What is of one process runs on each node.
within node0 timeout 100 srun -N 2 --ntasks-per-node=1 "$duet" health --device host --no-measurements > out.0 2> err.0 ||
  fail "health on two nodes: srun ended with $?"
says out.0 '^duet health: OK node1: ' "health on two nodes"
! within node0 timeout 100 srun -n 3 -N 2 "$duet" health --device host --no-measurements > out.0 2> err.0 ||
  fail "health of three processes on two nodes ended with 0"
says err.0 'duet health runs in one process' "health of three processes on two nodes"
least_one_by_one=60  # Slurm's daemons share the cores: each message may wait for one
source "$here/expected_rates.sh"
submits "the job" 0 fabric write "${common[@]}" --rail-mode split --sizes 16M --iterations 3
[[ $(grep -c '"percent_of_link"' fabric-*.jsonl) == 2 ]] || fail "the job's journal"
# 143: the first process that ends may have ended the other, by a signal, before it found out.
CUDA_VISIBLE_DEVICES= DUET_GPUS=1 submits "a job of GPUs where there is none" '2|143' collectives -b 1M -e 1M
says err.0 "cuda" "a job of GPUs where there is none"
# By MPI. Under load a rank may leave MPI_Init() before another one can receive, which its message then
# ends by a null call (Slurm 22.05 with Open MPI 4.1; as open-mpi/ompi#12495): then once more.
for _ in 1 2 3; do
  DUET_MPI=pmix DUET_GPUS=1 submits "collectives" '0|139|143' collectives --device host --engine mpi -b 1M -e 1M --seconds 0.1
  grep -q 'Failing at address: (nil)' err.0 || break
  rm -f collectives-*.jsonl
done
[[ $(grep -c '"verified":true' collectives-*.jsonl) == 7 ]] || fail "the collectives' journal"
# Two ranks on each node, and a node's ranks not consecutive: copies within a node, rails between.
for distribution in block cyclic; do
  across 2 --distribution="$distribution" -- "$folder/in_node" "$duet" collective all_gather,all_to_all,reduce_scatter,all_reduce \
    --device host --engine dma --rails r0,r1,r2,r3 -b 512K -e 512K --iterations 3 \
    --json "$folder/nodes.jsonl" > out.0 2> err.0 ||
    fail "collectives, $distribution: srun ended with $?"
  says out.0 '8 measured' "collectives, $distribution"
  says nodes.jsonl 'between nodes [0-9]+ messages over tcp' "collectives, $distribution"
  rm -f nodes.jsonl
done
submits "a job of nothing" 2 nonsense
says err.0 "expected fabric, collectives, fleet or soak, not 'nonsense'" "a job of nothing"
finish
