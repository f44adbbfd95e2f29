#!/usr/bin/env bash
# The job of deploy/slurm that compares nodes, under a real Slurm of six nodes on switches, of which
# one has slow links: fleet.sh PROGRAM. Rates are low, so that the cores are not the limit.
source "$(dirname "$0")/check.sh"
[[ -e $(dirname "$duet")/modules/duet_mpi.so ]] || { echo "skipped: needs the MPI module"; exit 77; }
source "$here/switches.sh"
source "$here/cluster.sh"
open_cluster 6 100mbit
shape_node 4 60mbit  # node3

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=c
write_configuration
start_daemons
wait_for_nodes
export DUET_STEPS=rounds DUET_DEVICE=host
submits "the fleet" 1 fleet --rails r0 --link-gbit 0.1 --sizes 64K --window 8 --messages 32 --warm-up 0 --iterations 5 --seconds 0.2
says out.0 '^  node3 .*-[2-4][0-9][.0-9]*%' "the node with slow links"
[[ $(grep -cE '^  node[0-9]+ ' out.0) == 1 ]] || fail "other nodes are suspects as well: $(cat out.0)"
[[ -s $(echo fleet-*/fleet.html) ]] || fail "no page"
finish
