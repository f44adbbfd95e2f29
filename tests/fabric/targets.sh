#!/usr/bin/env bash
# What `duet fabric` reaches over four rails of 1 Gbit/s: targets.sh PROGRAM. A target that is missed
# is tried again, twice, since two cores run both processes, the rails and whatever else is there.
source "$(dirname "$0")/check.sh"
open_rails 1gbit 64k

common=(--rails r0,r1,r2,r3 --link-gbit 1 --warm-up 0)

# reaches WHAT LOW HIGH ARGUMENT...: percent of the links of the run's only case.
reaches() {
  local what=$1 low=$2 high=$3 try percent
  shift 3
  for try in 1 2 3; do
    rm -f table.csv
    both_ends "${common[@]}" --csv table.csv "$@"
    ended_with 0 0 "$what"
    percent=$(rate table.csv percent_of_link)
    echo "$what: $percent% of the links, expected $low to $high%"
    awk -v p="$percent" -v l="$low" -v h="$high" 'BEGIN { exit !(p >= l && p <= h) }' && return
  done
  fail "$what: $percent% of the links"
}

reaches "one rail" 96 101 write --rail-mode single --sizes 64M --window 1 --iterations 5
reaches "split, one buffer of 256 MB" 97 101 \
  write --rail-mode split --sizes 256MB --window 1 --iterations 5
reaches "round_robin, many buffers" 95 101 \
  write --rail-mode round_robin --sizes 4M --window 8 --messages 64 --iterations 5
reaches "round_robin, one buffer" 23.5 25.3 \
  write --rail-mode round_robin --sizes 64M --window 1 --messages 1 --iterations 5
reaches "read, split" 90 101 read --rail-mode split --sizes 64M --window 1 --iterations 5
reaches "write_imm, both ways" 90 101 \
  write_imm --rail-mode split --sizes 64M --window 1 --direction two-way --iterations 5
reaches "send_recv, near half" 44 50.5 \
  send_recv --rail-mode single --sizes 16M --window 1 --iterations 5
# One message at a time leaves the rail idle while its end is told, eight do not.
reaches "256 KiB, window 1" 20 101 \
  write --rail-mode single --sizes 256K --window 1 --messages 64 --iterations 9
reaches "256 KiB, window 8" 90 101 \
  write --rail-mode single --sizes 256K --window 8 --messages 64 --iterations 9

# A proxy that posts for producers: as fast as direct writes where they wait once, slower where they
# wait for each message.
for try in 1 2 3; do
  rm -f table.csv
  both_ends "${common[@]}" write --rail-mode split --sizes 1M --window 8 --messages 64 \
    --issue direct,blocking,nonblocking --iterations 9 --csv table.csv
  ended_with 0 0 "proxy"
  direct=$(rate table.csv percent_of_link 1)
  blocking=$(rate table.csv percent_of_link 2)
  nonblocking=$(rate table.csv percent_of_link 3)
  echo "proxy, 1 MiB: direct $direct%, blocking $blocking%, nonblocking $nonblocking%"
  proxied=yes
  awk -v d="$direct" -v b="$blocking" -v n="$nonblocking" \
    'BEGIN { exit !(n >= 0.99 * d && b <= 0.95 * d) }' && break
  proxied=no
done
[[ $proxied == yes ]] || fail "proxy: expected nonblocking from 0.99 of direct, blocking below 0.95"

# The recommendation follows from the run: split for one large buffer, round_robin for many.
rm -f table.csv
both_ends "${common[@]}" write --sizes 16M --window 1,8 --messages 8 --iterations 3 --csv table.csv
ended_with 0 0 "recommendation"
says out.0 "fabric_recommendation" "recommendation"
says out.0 "1 +split" "recommendation for one buffer"
says out.0 "8 +(round_robin|split)" "recommendation for many buffers"
exit $((failures > 0))
