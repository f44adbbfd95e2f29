#!/usr/bin/env bash
# Collectives over two nodes: network and pid namespaces of L host ranks each, four rails of 1 Gbit/s
# between them: nodes.sh PROGRAM [figures]. Checks the data, the bytes on the rails, ranks that are
# dealt out, graphs, training steps, GEMMs beside a collective, and halos; `figures` prints rates beside their bounds instead.
source "$(dirname "$0")/check.sh"
open_rails 1gbit
source "$here/two_nodes.sh"

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
kinds=all_gather,all_to_all,all_to_all_v,reduce_scatter,all_reduce
check_data() {
  local ranks
  for ranks in 1 2; do
    collective "$ranks" "$kinds" --skew random --engine dma,kernel -b 64K -e 4M -f 8 --iterations 3
    all_ended_with 0 "$ranks ranks a node"
    says out.0 '54 measured' "$ranks ranks a node"
  done
  collective 2 "$kinds" --skew random --engine dma -b 512K -e 512K -G 3 --iterations 3
  all_ended_with 0 "graphs"
  says out.0 '9 measured' "graphs"
  collective 2 reduce_scatter,all_reduce,broadcast --engine dma --op avg -r 1 -b 512K -e 512K --iterations 3
  all_ended_with 0 "averages and a broadcast"
  says out.0 '6 measured' "averages and a broadcast"
  dealt=1
  collective 2 "$kinds" --skew one_heavy --engine dma -b 512K -e 512K --iterations 3
  dealt=
  all_ended_with 0 "ranks that are dealt out"
  says out.0 '9 measured' "ranks that are dealt out"
  collective 1 all_gather --engine dma -b 16M -e 16M --in-place out --iterations 3 --link-gbit 1
  local -r percent=$(column table.csv percent_of_rails)
  echo "all_gather: $percent% of the rails"
  holds "$percent > 10 && $percent < 105" || fail "percent of rails: $percent"
}

# Training steps whose collectives go over the rails.
check_training() {
  local way
  command=train
  for way in ddp zero3 "zero3 --tensor-ranks 2"; do
    # shellcheck disable=SC2086
    collective 2 gpt --model small --layers 1 --batch 1 --sequence 32 --parallel $way --engine dma --iterations 2
    if grep -q "it has no GEMM engine" out.0; then
      echo "left out: training needs a GEMM engine"
      break
    fi
    all_ended_with 0 "training, $way"
    says out.0 '1 case: 1 measured' "training, $way"
  done
  command=collective
}

# A GEMM, or a collective of another session, beside one over the rails: every rank makes the same
# iterations, and both results are checked.
check_overlap() {
  local compute
  command=overlap
  for compute in gemm:256x256x256:fp32 all_reduce:256K; do
    collective 2 --compute "$compute" --communicate all_gather:4M --policy serial,base,dma --iterations 3
    all_ended_with 0 "$compute beside an all_gather"
    if grep -q "has no engine for GEMMs" out.0; then
      echo "left out: overlap needs a GEMM engine"
      continue
    fi
    says out.0 '3 cases: 3 measured' "$compute beside an all_gather"
    ! grep -q "not verified" out.0 || fail "$compute beside an all_gather: not verified"
  done
  command=collective
}

# Layers of experts by every exchange, with gradients, and where one rank gets all rows; tokens'
# choices of the last rank's experts alone leave the others' receive buffers empty.
check_experts() {
  local routing
  command=moe
  echo "12 13 14 15" > to_one_rank.txt
  for routing in uniform file:to_one_rank.txt; do
    collective 2 --tokens 50 --routing "$routing" --engine dma --pass train --iterations 3
    if grep -q "has no engine for GEMMs" out.0; then
      echo "left out: layers of experts need a GEMM engine"
      break
    fi
    all_ended_with 0 "experts, $routing"
    says out.0 '4 cases: 4 measured' "experts, $routing"
    ! grep -q "not verified" out.0 || fail "experts, $routing: not verified"
  done
  collective 1 --tokens 50 --engine dma --exchange per-node --routing hot:9 -G 3 --iterations 3
  all_ended_with 0 "experts, captured"
  dealt=1
  collective 2 --tokens 50 --engine dma --exchange per-rank,per-node --iterations 3
  dealt=
  all_ended_with 0 "experts of ranks that are dealt out"
  says out.0 'per-node: expected nodes of consecutive ranks' "experts of ranks that are dealt out"
  dealt=1
  collective 2 --tokens 50 --engine auto --iterations 3
  dealt=
  all_ended_with 0 "the fastest exchange of ranks that are dealt out"
  says out.0 '1 case: 1 measured' "the fastest exchange of ranks that are dealt out"
  command=collective
}

# Halo rows, by rails and, within a node, by copy engines or kernels; norms go over the rails as well.
check_halo() {
  command=halo
  for dealt in "" 1; do
    collective 2 --engine dma,kernel --nx 300 --ny 203 --norm none,device --iterations 3
    all_ended_with 0 "halo, dealt '$dealt'"
    says out.0 '8 cases: 8 measured' "halo, dealt '$dealt'"
  done
  dealt=
  collective 2 --engine dma --nx 300 --ny 203 --graph --iterations 3
  all_ended_with 0 "halo in a graph"
  says out.0 '2 cases: 2 measured' "halo in a graph"
  ! grep -q "not verified" out.0 || fail "halo: not verified"
  command=collective
}

# A node sends (N - 1) / N of S in a call; in an all_to_all once for each of its ranks, in an all_reduce
# twice; and headers.
check_bytes() {
  local kind ranks
  for kind in all_gather all_to_all reduce_scatter all_reduce; do
    for ranks in 1 2; do
      eventually "$kind: bytes on the rails" sends_once "$kind" "$ranks"  # but for what TCP repeats
    done
  done
}

sends_once() {  # KIND LOCAL
  local few many call expected=$((4 << 20))
  few=$(bytes_of "$1" "$2" 1)
  many=$(bytes_of "$1" "$2" 3)
  call=$(((many - few) / 10))  # five samples of two calls more
  [[ $1 != all_to_all ]] || expected=$((expected * $2))
  [[ $1 != all_reduce ]] || expected=$((expected * 2))
  echo "$1, $2 ranks a node: a call sends $call bytes, expected $expected"
  holds "$call >= $expected && $call <= 1.01 * $expected"
}

# Rates beside the bounds of four rails of 1 Gbit/s.
figures() {
  local ranks
  for ranks in 1 2; do
    collective "$ranks" all_gather,all_to_all,reduce_scatter,all_reduce --engine dma -b 64M -e 64M --in-place out
    echo "$ranks ranks a node (all_to_all at most $([[ $ranks == 1 ]] && echo 0.493 || echo 0.370) GB/s," \
      "the others $([[ $ranks == 1 ]] && echo 0.493 || echo 0.739)):"
    grep busbw out.0 || fail "$ranks ranks a node: ${codes[*]}"
  done
}

if [[ ${2:-} == figures ]]; then
  figures
else
  check_data
  check_training
  check_overlap
  check_experts
  check_halo
  check_bytes
fi
finish
