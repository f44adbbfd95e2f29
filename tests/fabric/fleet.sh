#!/usr/bin/env bash
# The jobs of deploy/slurm that compare nodes and soak, under a real Slurm of six nodes on switches, of which
# one has slow links: fleet.sh PROGRAM. Rates are low, so that the cores are not the limit.
source "$(dirname "$0")/check.sh"
[[ -e $(dirname "$duet")/modules/duet_mpi.so ]] && command -v mpirun > /dev/null || { echo "skipped: needs the MPI module"; exit 77; }
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

# The same nodes by mpirun, as in the launcher of an MPIJob.
cat > agent << END
#!/usr/bin/env bash
members=(${members[*]}) folder=$folder
$(declare -f enter)
enter "\${1%%.*}" bash -c "\${*:2}"
END
chmod +x agent
printf 'node%s.duet.svc slots=8\n' 0 1 2 3 4 5 > hosts
by_mpirun() {
  DUET=$duet DUET_HOSTFILE=$folder/hosts DUET_RESULTS=$folder/pods OMPI_MCA_plm_rsh_agent=$folder/agent \
    within node0 timeout 200 bash "$job" "$@" > out.0 2> err.0
}
! by_mpirun fleet --rails r0 --link-gbit 0.1 --sizes 64K --window 8 --messages 32 --warm-up 0 --iterations 5 --seconds 0.2 ||
  fail "a fleet with slow links ended with 0 by mpirun"
says out.0 '^  node3 .*-[2-4][0-9][.0-9]*%' "by mpirun the node with slow links"
[[ $(grep -cE '^  node[0-9]+ ' out.0) == 1 ]] || fail "by mpirun other nodes are suspects as well: $(cat out.0 err.0)"


# All nodes soak with one seed; each finds what is planted, and the job fails.
soaked() {  # NAME FOLDER
  [[ $(grep -cE '^duet soak: FAIL [^ ]+: round 2: core at host:0: ' out.0) == 6 ]] || fail "$1: $(cat out.0 err.0)"
  says out.0 '^  node3: 1 case failed or left wrong data' "$1: what each node found"
  [[ $(cat "$2"/soak-*/*.jsonl | grep -o '"seed":[0-9]*' | sort -u | wc -l) == 1 ]] || fail "$1: other seeds"
}
submits "a soak" 1 soak --rounds 2 --round-seconds 0.2 --inject core@2:0
soaked "a soak" .
! by_mpirun soak --rounds 2 --round-seconds 0.2 --inject core@2:0 || fail "a soak by mpirun ended with 0"
cat err.0 >> out.0  # where journals come through standard output, lines are on standard error
soaked "a soak by mpirun" pods
finish
