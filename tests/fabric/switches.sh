# Nodes on switches: network namespaces, `nodes`, on four bridges r0 to r3 and one to meet over (c),
# 10.78.9.NUMBER. To be sourced behind check.sh; all of it goes when the script ends.
#   open_cluster NODES RATE
hub=duet-hub-$$
nodes=()

close_cluster() {
  local name pid
  for pid in "${pids[@]}"; do
    kill -9 "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
  done
  for name in "${nodes[@]}" "$hub"; do ip netns del "$name" 2> /dev/null || true; done
  rm -rf "$folder"
}

# plug NODE NUMBER INTERFACE SUBNET: a link to the switch of that name.
plug() {
  ip -n "$1" link add "$3" type veth peer name "$3-$2" netns "$hub"
  ip -n "$hub" link set "$3-$2" mtu 9000 master "$3" up
  ip -n "$1" addr add "$4.$2/24" dev "$3"
  ip -n "$1" link set "$3" mtu 9000 up
}

# shape_node NUMBER RATE: of its links, both ways, from 1 on. Queues are deep: several that send to one
# at a time overrun a short one, and wait for lost packets.
shape_node() {
  local i
  for i in 0 1 2 3; do
    shape "${nodes[$1 - 1]}" "r$i" "$2" 32k 400ms
    shape "$hub" "r$i-$1" "$2" 32k 400ms
  done
}

open_cluster() {
  local k i name
  trap close_cluster EXIT
  ip netns add "$hub"
  for name in c r0 r1 r2 r3; do
    ip -n "$hub" link add "$name" type bridge
    ip -n "$hub" link set "$name" mtu 9000 up
  done
  for ((k = 1; k <= $1; ++k)); do
    name=duet-node-$$-$k
    nodes+=("$name")
    ip netns add "$name"
    ip -n "$name" link set lo up
    plug "$name" "$k" c 10.78.9
    for i in 0 1 2 3; do
      plug "$name" "$k" "r$i" "10.78.$i"
    done
    shape_node "$k" "$2"
  done
  left=${nodes[0]}
  right=${nodes[-1]}
  wait_for_carriers
}
