#!/usr/bin/env bash
# all_to_all between 2, 4 and 8 nodes, which are network namespaces on four switches (bridges) with
# links of 100 Mbit/s both ways: all_to_all.sh PROGRAM. Prints the curve over the nodes.
source "$(dirname "$0")/check.sh"
source "$here/switches.sh"

# run COUNT ARGUMENT...: in the first COUNT nodes; the exit codes go to `codes`.
run() {
  local count=$1 rank
  shift
  meeting_port=$((meeting_port + 1))
  rm -f out.* err.*
  for ((rank = 0; rank < count; ++rank)); do
    ip netns exec "${nodes[rank]}" env MASTER_ADDR=10.78.9.1 MASTER_PORT="$meeting_port" \
      RANK="$rank" WORLD_SIZE="$count" timeout 100 "$duet" fabric "$@" \
      > "out.$rank" 2> "err.$rank" &
    pids[rank]=$!
  done
  codes=()
  for ((rank = 0; rank < count; ++rank)); do
    codes[rank]=0
    wait "${pids[$rank]}" || codes[rank]=$?
  done
  pids=()
}

# curve COUNT: what leaves each of so many nodes, by mode.
curve() {
  local count=$1 single split round_robin
  rm -f table.csv
  run "$count" all_to_all --rails r0,r1,r2,r3 --link-gbit 0.1 --sizes 1M --chunk 256K --warm-up 0 \
    --iterations 3 --csv table.csv
  [[ "${codes[*]}" =~ ^(0 ?)+$ ]] || fail "$count nodes: ended with ${codes[*]}"
  single=$(column table.csv gbit_per_s 1)
  split=$(column table.csv gbit_per_s 2)
  round_robin=$(column table.csv gbit_per_s 3)
  echo "$count nodes, Gbit/s that leave each: single $single, split $split, round_robin $round_robin"
  holds "$single >= 0.07 && $split >= 0.25 && $split >= 2.8 * $single"
}

open_cluster 8 100mbit
for count in 2 4 8; do
  eventually "$count nodes: expected 0.07 on one rail, 0.25 and 2.8 times that split" curve "$count"
done
finish
