#!/usr/bin/env bash
# Collectives over two nodes: network and pid namespaces of L host ranks each, four rails of 1 Gbit/s
# between them: nodes.sh PROGRAM [figures]. Checks the data, the bytes on the rails, ranks that are
# dealt out, graphs, and a rail that is cut; `figures` prints rates beside their bounds instead.
source "$(dirname "$0")/check.sh"
open_rails 1gbit 64k
unshare --pid --fork --mount-proc true 2> /dev/null || { echo "skipped: needs pid namespaces"; exit 77; }

# node NAMESPACE RANK...: these ranks in one pid namespace; what rank N writes goes to out.N, err.N, and
# its exit code to code.N.
node() {
  local namespace=$1
  shift
  ip netns exec "$namespace" unshare --pid --fork --mount-proc bash -c '
    duet=$0 size=$1 ranks=$2
    shift 2
    for rank in $ranks; do
      (RANK=$rank WORLD_SIZE=$size timeout 100 "$duet" "$@" > "out.$rank" 2> "err.$rank"
       echo $? > "code.$rank") &
    done
    wait' "$duet" "$size" "$*" "${arguments[@]}" &
  pids+=($!)
}

# collective LOCAL ARGUMENT...: so many ranks on each node; `dealt` deals them out in turns.
dealt=
collective() {
  start_nodes "$@"
  wait_nodes
}

start_nodes() {
  local local_size=$1 rank left_ranks=() right_ranks=()
  shift
  size=$((2 * local_size))
  arguments=(collective "$@" --device host --rails r0,r1,r2,r3 --csv table.csv)
  meeting_port=$((meeting_port + 1))
  export MASTER_ADDR=10.77.9.1 MASTER_PORT=$meeting_port
  rm -f out.* err.* code.* table.csv
  for ((rank = 0; rank < size; ++rank)); do
    if [[ -n $dealt ]]; then
      ((rank % 2 == 0)) && left_ranks+=("$rank") || right_ranks+=("$rank")
    else
      ((rank < local_size)) && left_ranks+=("$rank") || right_ranks+=("$rank")
    fi
  done
  pids=()
  node "$left" "${left_ranks[@]}"
  node "$right" "${right_ranks[@]}"
}

wait_nodes() {
  local rank
  wait "${pids[@]}" || true
  pids=()
  codes=()
  for ((rank = 0; rank < size; ++rank)); do codes+=("$(cat "code.$rank" 2> /dev/null || echo none)"); done
}

all_ended_with() {  # CODE WHAT
  local code
  for code in "${codes[@]}"; do
    [[ $code == "$1" ]] || { fail "$2: the processes ended with ${codes[*]}, expected $1"; return 0; }
  done
}

# Bytes that the left node has sent over all rails.
sent() {
  local i sum=0
  for i in 0 1 2 3; do
    sum=$((sum + $(ip netns exec "$left" cat "/sys/class/net/r$i/statistics/tx_bytes")))
  done
  echo "$sum"
}

# bytes_of KIND LOCAL ITERATIONS: what a run sends that does not check its results.
bytes_of() {
  local before
  before=$(sent)
  collective "$2" "$1" --engine dma -b 8M -e 8M --in-place out -c 0 --loop -n "$3" -w 0
  all_ended_with 0 "$1 with $2 ranks a node"
  echo "$(($(sent) - before))"
}
# Data are right: both ways of moving within a node, graphs, ranks that are dealt out to the nodes.
kinds=all_gather,all_to_all,reduce_scatter,all_reduce
check_data() {
  local ranks
  for ranks in 1 2; do
    collective "$ranks" "$kinds" --engine dma,kernel -b 64K -e 4M -f 8 --iterations 3
    all_ended_with 0 "$ranks ranks a node"
    says out.0 '42 measured, 6 skipped' "$ranks ranks a node"
  done
  collective 2 "$kinds" --engine dma -b 512K -e 512K -G 3 --iterations 3
  all_ended_with 0 "graphs"
  says out.0 '7 measured, 1 skipped' "graphs"
  dealt=1
  collective 2 "$kinds" --engine dma -b 512K -e 512K --iterations 3
  dealt=
  all_ended_with 0 "ranks that are dealt out"
  says out.0 '7 measured, 1 skipped' "ranks that are dealt out"
}

# A node sends (N - 1) / N of S in a call; in an all_to_all once for each of its ranks, in an all_reduce
# twice; and headers.
check_bytes() {
  local kind ranks few many call expected
  for kind in all_gather all_to_all reduce_scatter all_reduce; do
    for ranks in 1 2; do
      few=$(bytes_of "$kind" "$ranks" 1)
      many=$(bytes_of "$kind" "$ranks" 3)
      call=$(((many - few) / 10))  # five samples of two calls more
      expected=$((4 << 20))
      [[ $kind != all_to_all ]] || expected=$((expected * ranks))
      [[ $kind != all_reduce ]] || expected=$((expected * 2))
      echo "$kind, $ranks ranks a node: a call sends $call bytes, expected $expected"
      holds "$call >= $expected && $call <= 1.01 * $expected" || fail "$kind: bytes on the rails"
    done
  done
}

# A call that lasts, and what the processes say when REASON comes; then a run on the same rails.
long_call() {
  start_nodes 2 "$1" --engine dma -b 64M -e 64M --in-place out -c 0 --loop -n 1000 -w 0 --stall 2
  sleep 3
}

check_faults() {
  local begin kind
  for kind in all_gather all_to_all all_reduce; do
    long_call "$kind"
    ip -n "$left" link set r1 down
    wait_nodes
    all_ended_with 1 "$kind, a rail cut"
    says out.0 'rail r1 \(10\.77\.1\.[12]\) to rank [0-9] on node [01]: nothing has ended' "$kind, a rail cut"
    ip -n "$left" link set r1 up
    wait_for_carriers
  done
  long_call all_gather
  begin=$SECONDS
  kill -9 "$(pgrep -f "collective all_gather .*--rails r0,r1,r2,r3" | xargs -I{} sh -c \
    'grep -qz "^RANK=3$" /proc/{}/environ && [ "$(cat /proc/{}/comm)" = duet ] && echo {}')"
  wait_nodes
  ((SECONDS - begin <= 10)) || fail "a killed rank: it took $((SECONDS - begin)) s"
  [[ "${codes[*]}" == "1 1 1 137" ]] || fail "a killed rank: the processes ended with ${codes[*]}"
  says err.0 'rank 3 .*is gone' "a killed rank"
  collective 2 all_gather --engine dma -b 512K -e 512K --iterations 3
  all_ended_with 0 "after the faults"
}

# Rates beside the bounds of four rails of 1 Gbit/s.
figures() {
  local ranks
  for ranks in 1 2; do
    collective "$ranks" "$kinds" --engine dma -b 64M -e 64M --in-place out
    echo "$ranks ranks a node (all_to_all at most $([[ $ranks == 1 ]] && echo 0.493 || echo 0.370) GB/s," \
      "the others $([[ $ranks == 1 ]] && echo 0.493 || echo 0.739)):"
    grep busbw out.0 || fail "$ranks ranks a node: ${codes[*]}"
  done
}

if [[ ${2:-} == figures ]]; then
  figures
else
  check_data
  check_bytes
  check_faults
fi
exit $((failures > 0))
