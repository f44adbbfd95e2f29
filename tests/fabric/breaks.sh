# What is broken during a run, by the scripts of faults. To be sourced behind check.sh's open_rails, by one
# that defines start_run ARGUMENT... and wait_run, which sets `codes`.

carried() { ip netns exec "$right" cat /sys/class/net/r1/statistics/rx_bytes; }

# Until the rail r1 has carried so much of a run (`mib`, or 8) that all rails are open and busy.
wait_for_traffic() {  # BYTES BEFORE THE RUN
  local tries=400
  while (($(carried) < $1 + ${mib:-8} * (1 << 20))); do
    ((--tries > 0)) || { fail "nothing moves"; return; }
    sleep 0.05
  done
}

# during WHAT SECONDS_AT_MOST BREAK MEND ARGUMENT...: starts a run, breaks when data move, mends 3 s
# later ("" : does not), and waits. The seconds count from the break, without the time that the programs
# take to start.
during() {
  local what=$1 most=$2 break=$3 mend=$4 begin before
  shift 4
  rm -f table.csv
  before=$(carried)
  start_run "$@"
  wait_for_traffic "$before"
  begin=$SECONDS
  eval "$break"
  if [[ -n $mend ]]; then
    sleep 3
    eval "$mend"
  fi
  wait_run
  echo "$what: ended with ${codes[*]} after $((SECONDS - begin)) s"
  ((SECONDS - begin <= most)) || fail "$what: took $((SECONDS - begin)) s"
}

down() { ip -n "$left" link set "$1" down; }
up() {
  local rail
  for rail in "$@"; do ip -n "$left" link set "$rail" up; done
  wait_for_carriers
}

verified() {
  all_ended_with 0 "$1"
  [[ $(column table.csv verified) == true ]] || fail "$1: not verified"
}

check_loss() {  # SECONDS_AT_MOST ARGUMENT...: of a run
  command -v nft > /dev/null || { echo "left out: 1% loss needs nft"; return; }
  local lossy="table inet loss { chain in { type filter hook input priority 0;
    iifname r1 numgen random mod 100 < 1 drop; }; }"
  during "1% loss" "$1" "ip netns exec $right nft '$lossy'" "" "${@:2}"
  verified "1% loss"
  ip netns exec "$right" nft delete table inet loss
}
