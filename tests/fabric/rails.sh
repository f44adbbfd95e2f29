# Two network namespaces joined by four rails (veth pairs r0 to r3, MTU 9000) and a line for the
# processes to meet over (c). To be sourced, by root; all of it goes when the script ends.
#   open_rails RATE          tbf's, of every rail in both directions
#   shape_rails RATE [BURST] changes it
#   both_ends ARGUMENT...    runs `duet fabric` in both; the exit codes go to `codes`, what process N
#                            wrote to out.N and err.N
# Expects the program in `duet`.
left=duet-left-$$
right=duet-right-$$
meeting_port=$port
codes=()
export DUET_TOKEN=0123456789abcdef0123456789abcdef  # they meet at an address that others reach

why_no_rails() {
  [[ $(id -u) == 0 ]] || { echo "needs root"; return; }
  command -v ip > /dev/null && command -v tc > /dev/null || { echo "needs ip and tc"; return; }
  ip netns add "$left" 2> /dev/null || { echo "needs network namespaces"; return; }
  if ! ip -n "$left" link add r0 type veth peer name r1 2> /dev/null; then
    echo "needs veth pairs"
  elif ! tc -n "$left" qdisc add dev r0 root tbf rate 1gbit burst 64k latency 50ms 2> /dev/null; then
    echo "needs the queueing discipline tbf"
  fi
  ip netns del "$left"
}

close_rails() {
  local pid
  for pid in "${pids[@]}"; do
    kill -9 "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
  done
  ip netns del "$left" 2> /dev/null || true
  ip netns del "$right" 2> /dev/null || true
  rm -rf "$folder"
}

# pair NAME SUBNET: an interface of that name in both, .1 and .2 of the subnet.
pair() {
  ip -n "$left" link add "$1" type veth peer name "$1" netns "$right"
  ip -n "$left" addr add "$2.1/24" dev "$1"
  ip -n "$right" addr add "$2.2/24" dev "$1"
  ip -n "$left" link set "$1" mtu 9000 up
  ip -n "$right" link set "$1" mtu 9000 up
}

# shape NAMESPACE INTERFACE RATE [BURST [QUEUE]]: the queue in seconds of that rate. The burst makes up
# for timers that wake tbf late: with 64k, 0.5 ms of 1 Gbit/s, a plain TCP stream reaches 92% of that
# rate on some virtual machines, with 256k 99%.
shape() {
  tc -n "$1" qdisc replace dev "$2" root tbf rate "$3" burst "${4:-256k}" latency "${5:-50ms}"
}

# In both directions.
shape_rails() {
  local i
  for i in 0 1 2 3; do
    shape "$left" "r$i" "$@"
    shape "$right" "r$i" "$@"
  done
}

open_rails() {
  local i
  trap close_rails EXIT
  ip netns add "$left"
  ip netns add "$right"
  ip -n "$left" link set lo up
  ip -n "$right" link set lo up
  pair c 10.77.9
  for i in 0 1 2 3; do pair "r$i" "10.77.$i"; done
  shape_rails "$1"
  wait_for_carriers
}

# The kernel tells of a carrier up to a second late, and libfabric shows no interface without one.
wait_for_carriers() {
  local namespace tries=50
  for namespace in "$left" "$right"; do
    while (($(ip -n "$namespace" link show type veth | grep -c "state UP") < 5)); do
      ((--tries > 0)) || { echo "the rails have no carrier" >&2; exit 1; }
      sleep 0.1
    done
  done
}

# start NAMESPACE RANK ARGUMENT...: in the background, its pid in pids[RANK].
start() {
  local namespace=$1 rank=$2
  shift 2
  ip netns exec "$namespace" env MASTER_ADDR=10.77.9.1 MASTER_PORT="$meeting_port" RANK="$rank" \
    WORLD_SIZE=2 timeout 100 "$duet" fabric --verbose "$@" > "out.$rank" 2> "err.$rank" &
  pids[rank]=$!
}

start_both() {
  meeting_port=$((meeting_port + 1))
  rm -f out.* err.*
  start "$left" 0 "$@"
  start "$right" 1 "$@"
}

wait_both() {
  local rank
  for rank in 0 1; do
    codes[rank]=0
    wait "${pids[$rank]}" 2> /dev/null || codes[rank]=$?
  done
  pids=()
}

both_ends() {
  start_both "$@"
  wait_both
}
