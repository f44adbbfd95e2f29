#!/usr/bin/env bash
# What `duet fabric` does when rails or processes fail: faults.sh PROGRAM. Never a hang, never wrong
# data: a run that ends with 0 has checked every byte of every iteration, others say what failed.
source "$(dirname "$0")/check.sh"
open_rails 1gbit

# Some seconds of split buffers, one after the other.
long=(--rails r0,r1,r2,r3 --link-gbit 1 --rail-mode split --sizes 32M --window 1 --messages 4
  --warm-up 0 --seconds 100)

source "$here/breaks.sh"
start_run() { start_both "$@" "${long[@]}" --csv table.csv; }
wait_run() { wait_both; }

# Before: libfabric shows no interface without a carrier.
down r2
both_ends write "${long[@]}" --iterations 3
ended_with 2 2 "rail down before"
says err.0 "there is no 'r2': expected .*r3" "rail down before"
up r2

during "rail down" 20 "down r2" "" write --stall 2 --iterations 20
ended_with 1 1 "rail down"
says out.0 "failed: .*rail r2 \(10.77.2.1\) to process 1: nothing has ended for" "rail down"
up r2

during "rail down, failover" 60 "down r2" "" write --stall 2 --iterations 8 --failover
verified "rail down, failover"
says out.0 "rail r2 .*the other rails took over" "rail down, failover"
up r2

during "first rail down, failover of reads both ways" 60 "down r0" "" read --stall 2 --direction two-way \
  --iterations 8 --failover
verified "first rail down, failover of reads both ways"
up r0

during "rail down, failover of a proxy" 60 "down r1" "" write_imm --issue blocking --stall 2 \
  --iterations 6 --failover
verified "rail down, failover of a proxy"
up r1

# As messages in a GPU's memory go where the library does not reach it.
during "rail down, failover of what is staged" 60 "down r3" "" write --memory device \
  --memory-path staged --stall 2 --iterations 6 --failover
verified "rail down, failover of what is staged"
up r3

during "rail down for 3 s" 40 "down r1" "up r1" write --iterations 20
verified "rail down for 3 s"

during "address removed" 20 "ip -n $left addr del 10.77.3.1/24 dev r3" "" write --stall 2 --iterations 20
ended_with 1 1 "address removed"
says out.0 "failed: .*rail r3 \(10.77.3.1\) to process 1" "address removed"
ip -n "$left" addr add 10.77.3.1/24 dev r3

during "rail slowed tenfold" 60 "shape $left r1 100mbit 64k" "" write --stall 2 --iterations 2
verified "rail slowed tenfold"
shape "$left" r1 1gbit

check_loss 40 write --iterations 10

during "peer killed" 10 'pkill -9 -P "${pids[1]}"' "" write --iterations 100
[[ ${codes[0]} == 1 ]] || fail "peer killed: process 0 ended with ${codes[0]}"
says err.0 "process 1 \(pid .*\) is gone" "peer killed"

during "process 0 killed" 10 'pkill -9 -P "${pids[0]}"' "" write --iterations 100
[[ ${codes[1]} == 1 ]] || fail "process 0 killed: process 1 ended with ${codes[1]}"
says err.1 "process 0 \(pid .*\) is gone" "process 0 killed"

# Connections that stay as they were, to nobody who answers.
kill_after_process_0() {
  while kill -0 "${pids[0]}" 2> /dev/null; do sleep 0.1; done
  pkill -9 -P "${pids[1]}"
}

# A process that is gone between two transfers is named without a rail, as none was waited for: then
# once more.
rail_is_named() {
  grep -qE "process 1 .* has not answered for 10 s .*: rail r[0-3] .* to process 1: nothing has ended" err.0
}

peer_stopped() {
  during "peer stopped" 30 'pkill -STOP -P "${pids[1]}"' kill_after_process_0 write --stall 2 --iterations 100
  [[ ${codes[0]} == 1 ]] || fail "peer stopped: process 0 ended with ${codes[0]}"
  says err.0 "process 1 .* has not answered for 10 s" "peer stopped"
  rail_is_named
}
eventually "peer stopped: no rail is named" peer_stopped

node_lost() {
  during "node lost" 30 'down c; down r0; down r1; down r2; down r3' "" write --stall 2 --iterations 100
  ended_with 1 1 "node lost"
  says err.0 "process 1 .* has not answered for 10 s" "node lost"
  says err.1 "process 0 .* has not answered for 10 s" "node lost"
  up c r0 r1 r2 r3
  rail_is_named
}
eventually "node lost: no rail is named" node_lost

during "meeting line down" 60 'down c' 'up c' write --iterations 10
verified "meeting line down for 3 s"

rm -f out.* err.*
SECONDS=0
start "$left" 0 write --provider tcp --rails r0 --sizes 1M --meet 2
codes=(0)
wait "${pids[0]}" || codes[0]=$?
[[ ${codes[0]} == 1 ]] || fail "peer never comes: ended with ${codes[0]}"
((SECONDS <= 5)) || fail "peer never comes: took $SECONDS s"
says err.0 "process 1 of 2 has not connected" "peer never comes"
finish
