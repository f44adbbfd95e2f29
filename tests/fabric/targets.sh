#!/usr/bin/env bash
# What `duet fabric` reaches over four rails of 1 Gbit/s: targets.sh PROGRAM.
source "$(dirname "$0")/check.sh"
open_rails 1gbit 64k

ends() {  # ARGUMENT...
  both_ends --rails r0,r1,r2,r3 --link-gbit 1 --warm-up 0 --csv table.csv "$@"
  [[ ${codes[*]} == "0 0" ]]
}

reaches "one rail" 96 101 ends write --rail-mode single --sizes 64M --window 1 --iterations 3
reaches "split, one buffer of 256 MB" 97 101 \
  ends write --rail-mode split --sizes 256MB --window 1 --iterations 3
reaches "round_robin, many buffers" 95 101 \
  ends write --rail-mode round_robin --sizes 4M --window 8 --messages 64 --iterations 3
reaches "round_robin, one buffer" 23.5 25.3 \
  ends write --rail-mode round_robin --sizes 64M --window 1 --messages 1 --iterations 3
reaches "read, split" 90 101 ends read --rail-mode split --sizes 64M --window 1 --iterations 3
reaches "write_imm, both ways" 90 101 \
  ends write_imm --rail-mode split --sizes 64M --window 1 --direction two-way --iterations 3
reaches "send_recv, near half" 44 50.5 \
  ends send_recv --rail-mode single --sizes 16M --window 1 --iterations 3
reaches "256 KiB, window 1" 95 101 \
  ends write --rail-mode single --sizes 256K --window 1 --messages 64 --iterations 5
reaches "256 KiB, window 8" 95 101 \
  ends write --rail-mode single --sizes 256K --window 8 --messages 64 --iterations 5

# One message at a time leaves the rail idle while its end is told, eight do not. Here a message of
# 256 KiB takes 150 times as long as the telling; at 100 Gbit/s it takes as long as one of 2.6 KB here.
windows() {
  rm -f table.csv
  ends write --rail-mode single --sizes 1K --window 1,8 --messages 512 --iterations 9 ||
    fail "windows: ended with ${codes[*]}"
  local one eight
  one=$(rate table.csv percent_of_link 1)
  eight=$(rate table.csv percent_of_link 2)
  echo "1 KiB: window 1 $one%, window 8 $eight% of the link"
  holds "$eight >= 1.2 * $one"
}
eventually "1 KiB: expected 1.2 times as much with a window of 8" windows

# A proxy that posts for producers, percent of the links: posted WAY.
posted() {
  rm -f table.csv
  ends write --rail-mode split --sizes 1M --window 8 --messages 64 --issue "direct,$1" \
    --iterations 9 || fail "proxy: ended with ${codes[*]}"
  direct=$(rate table.csv percent_of_link 1)
  proxied=$(rate table.csv percent_of_link 2)
  echo "proxy, 1 MiB: direct $direct%, $1 $proxied%"
}

waits_once() { posted nonblocking && holds "$proxied >= 0.99 * $direct"; }

waits_for_each() { posted blocking && holds "$proxied <= 0.95 * $direct"; }

eventually "proxy: expected nonblocking from 0.99 of direct" waits_once
# The bursts so far make up for a pause of half a millisecond, and would hide the waits.
shape_rails 1gbit 16k
eventually "proxy: expected blocking below 0.95 of direct" waits_for_each
shape_rails 1gbit 64k

# The recommendation follows from the run: split for one large buffer, any use of all rails for many.
recommended() {
  rm -f table.csv
  ends write --sizes 16M --window 1,8 --messages 8 --iterations 3 || fail "recommendation: ${codes[*]}"
  echo "recommended: window $(column table.csv window 7) $(column table.csv mode 7)," \
    "window $(column table.csv window 8) $(column table.csv mode 8)"
  [[ $(column table.csv benchmark 8) == fabric_recommendation ]] &&
    [[ $(column table.csv window 7) == 1 && $(column table.csv mode 7) == split ]] &&
    [[ $(column table.csv window 8) == 8 && $(column table.csv mode 8) != single ]]
}
eventually "recommendation: expected split for one buffer, split or round_robin for many" recommended
exit $((failures > 0))
