# Runs of `duet collective`, or another command, over two nodes: network and pid namespaces of L host ranks each. To be
# sourced behind check.sh's open_rails.
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

# collective LOCAL ARGUMENT...: so many ranks on each node; `dealt` deals them out in turns. `command`
# is another command of duet.
dealt=
command=collective
collective() {
  start_nodes "$@"
  wait_nodes
}

start_nodes() {
  local local_size=$1 rank left_ranks=() right_ranks=()
  shift
  size=$((2 * local_size))
  arguments=("$command" "$@" --device host --rails r0,r1,r2,r3 --csv table.csv)
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
