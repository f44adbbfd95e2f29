# What `duet fabric` reaches over four rails of 1 Gbit/s, however its two processes are started. To be
# sourced after check.sh, with the rails open and
#   ends ARGUMENT...    runs both, on all rails and without a warm-up, with the table table.csv
#   least_one_by_one    the least percentage for messages that wait for each other; default 95
reaches "one rail" 96 101 ends write --rail-mode single --sizes 64M --window 1 --iterations 3
reaches "split, one buffer of 256 MB" 97 101 \
  ends write --rail-mode split --sizes 256MB --window 1 --iterations 3
reaches "round_robin, many buffers" 95 101 \
  ends write --rail-mode round_robin --sizes 4M --window 8 --messages 64 --iterations 3
reaches "round_robin, one buffer" 23.5 25.3 \
  ends write --rail-mode round_robin --sizes 64M --window 1 --messages 1 --iterations 3
reaches "send_recv, near half" 44 50.5 \
  ends send_recv --rail-mode single --sizes 16M --window 1 --iterations 3
reaches "256 KiB, window 1" "${least_one_by_one:-95}" 101 \
  ends write --rail-mode single --sizes 256K --window 1 --messages 64 --iterations 5
reaches "256 KiB, window 8" 95 101 \
  ends write --rail-mode single --sizes 256K --window 8 --messages 64 --iterations 5

# One message at a time leaves the rail idle while its end is told, eight do not. Here a message of
# 256 KiB takes 150 times as long as the telling; at 100 Gbit/s it takes as long as one of 2.6 KB here; of 1 KiB a fast CPU still fills the rail.
windows() {
  rm -f table.csv
  ends write --rail-mode single --sizes 256 --window 1,8 --messages 2048 --iterations 9 ||
    fail "windows: ended with another code than 0"
  local one eight
  one=$(column table.csv percent_of_link 1)
  eight=$(column table.csv percent_of_link 2)
  echo "256 B: window 1 $one%, window 8 $eight% of the link"
  holds "$eight >= 1.2 * $one"
}
eventually "256 B: expected 1.2 times as much with a window of 8" windows

# A proxy that posts for producers, percent of the links: posted WAY SIZE MESSAGES ITERATIONS.
posted() {
  rm -f table.csv
  ends write --rail-mode split --sizes "$2" --window 8 --messages "$3" --issue "direct,$1" \
    --iterations "$4" || fail "proxy: ended with another code than 0"
  direct=$(column table.csv percent_of_link 1)
  proxied=$(column table.csv percent_of_link 2)
  echo "proxy, $2: direct $direct%, $1 $proxied%"
}

waits_once() { posted nonblocking "$@" && holds "$proxied >= 0.99 * $direct"; }

waits_for_each() { posted blocking "$@" && holds "$proxied <= 0.95 * $direct"; }

eventually "proxy, 1 MiB: expected nonblocking from 0.99 of direct" waits_once 1M 64 9
eventually "proxy, 16 MiB: expected nonblocking from 0.99 of direct" waits_once 16M 8 3
# The bursts so far make up for a pause of two milliseconds, and would hide the waits.
shape_rails 1gbit 16k
eventually "proxy: expected blocking below 0.95 of direct" waits_for_each 1M 64 9
shape_rails 1gbit
