#!/usr/bin/env bash
# What `duet fabric` reaches over four rails of 1 Gbit/s: targets.sh PROGRAM.
source "$(dirname "$0")/check.sh"
open_rails 1gbit

ends() {
  both_ends --rails r0,r1,r2,r3 --link-gbit 1 --warm-up 0 --csv table.csv "$@"
  [[ ${codes[*]} == "0 0" ]]
}

source "$here/expected_rates.sh"

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

reaches "read, split" 90 101 ends read --rail-mode split --sizes 64M --window 1 --iterations 3
reaches "write_imm, both ways" 90 101 \
  ends write_imm --rail-mode split --sizes 64M --window 1 --direction two-way --iterations 9

# The recommendation follows from the run: split for one large buffer, any use of all rails for many.
recommended() {
  rm -f table.csv
  ends write --sizes 4M --window 1,8 --messages 8 --iterations 3 || fail "recommendation: ${codes[*]}"
  echo "recommended: window $(column table.csv window 7) $(column table.csv mode 7)," \
    "window $(column table.csv window 8) $(column table.csv mode 8)"
  [[ $(column table.csv benchmark 8) == fabric_recommendation ]] &&
    [[ $(column table.csv window 7) == 1 && $(column table.csv mode 7) == split ]] &&
    [[ $(column table.csv window 8) == 8 && $(column table.csv mode 8) != single ]]
}
eventually "recommendation: expected split for one buffer, split or round_robin for many" recommended
finish
