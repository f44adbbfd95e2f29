#!/usr/bin/env bash
# Collectives over two nodes of two host ranks each, when rails, ranks or a node fail: nodes_faults.sh
# PROGRAM. Never a hang, never wrong data: a run that ends with 0 has checked its results, others say
# what failed, on all ranks.
source "$(dirname "$0")/check.sh"
open_rails 1gbit
source "$here/two_nodes.sh"

# Calls of 16 MiB, whose results are checked: some, some seconds of them, and as many until a fault ends them.
calls=(--engine dma -b 16M -e 16M --in-place out --stall 2)
some_seconds=("${calls[@]}" --mode at_least --seconds 8)
endless=("${calls[@]}" --mode at_least --seconds 60)

source "$here/breaks.sh"
start_run() { start_nodes 2 "$@"; }
wait_run() { wait_nodes; }

# signal_rank N SIGNAL: to the process of that rank.
signal_rank() {
  local pid
  for pid in $(pgrep -x duet); do
    if grep -qz "^RANK=$1$" "/proc/$pid/environ" && grep -qz "^MASTER_PORT=$meeting_port$" "/proc/$pid/environ"; then
      kill "$2" "$pid"
    fi
  done
}

lost_rail='rail r1 \(10\.77\.1\.[12]\) to rank [0-9] on node [01]: nothing has ended'

# At different times of a call: its rails are as busy at its begin as they are later.
check_rails() {
  local kind mib=5
  for kind in all_gather all_to_all reduce_scatter all_reduce; do
    mib=$((mib + 3))
    during "$kind, rail cut, failover" 60 "down r1" "" "$kind" "${some_seconds[@]}" --failover
    verified "$kind, rail cut, failover"
    # Where both ends tell it, one line stands for both, with dots for what differs.
    says out.0 "rail r(1|\.\.\.) .*the other rails took over" "$kind, rail cut, failover"
    up r1
    [[ $kind == all_to_all || $kind == reduce_scatter ]] && continue  # these end as the others do
    during "$kind, rail cut" 30 "down r1" "" "$kind" "${endless[@]}"
    all_ended_with 1 "$kind, rail cut"
    # A failed case, or the end of the program where the other node's error came between the cases.
    cat err.0 >> out.0
    says out.0 "$lost_rail" "$kind, rail cut"
    up r1
  done
}

check_slow_rails() {
  during "rail slowed tenfold" 90 "shape $left r1 100mbit 64k" "" all_gather "${calls[@]}" --iterations 10
  verified "rail slowed tenfold"
  shape "$left" r1 1gbit
  check_loss 90 all_reduce "${calls[@]}" --iterations 10
}

check_ranks() {
  local kind
  for kind in all_gather all_reduce; do
    during "$kind, rank killed" 15 "signal_rank 3 -KILL" "" "$kind" "${endless[@]}"
    [[ "${codes[*]}" == "1 1 1 137" ]] || fail "$kind, rank killed: ended with ${codes[*]}"
    says err.0 'rank 3 .*is gone' "$kind, rank killed"
  done
}

# A process that is stopped, and the lines to it: killed when the others have ended.
stop_rank() {
  local tries=400
  signal_rank 3 -STOP
  while [[ $(cat code.0 code.1 code.2 2> /dev/null | wc -l) -lt 3 ]]; do
    ((--tries > 0)) || { fail "a stopped rank: the others wait for ever"; break; }
    sleep 0.1
  done
  signal_rank 3 -KILL
}

check_hangs() {
  local failover
  for failover in "" --failover; do
    during "rank stopped $failover" 45 stop_rank "" all_gather "${endless[@]}" $failover
    [[ "${codes[*]}" == "1 1 1 137" ]] || fail "rank stopped $failover: ended with ${codes[*]}"
    says err.0 "rank 3 .*has not answered for 10 s" "rank stopped $failover"
    during "node lost $failover" 45 'down c; down r0; down r1; down r2; down r3' "" \
      all_gather "${endless[@]}" $failover
    all_ended_with 1 "node lost $failover"
    says err.0 "rank [23] .*has not answered for 10 s" "node lost $failover"
    says err.2 "process 0 .*has not answered for 10 s" "node lost $failover"
    up c r0 r1 r2 r3
  done
}

check_rails
check_slow_rails
check_ranks
check_hangs
collective 2 all_gather --engine dma -b 512K -e 512K --iterations 3
all_ended_with 0 "after the faults"
finish
