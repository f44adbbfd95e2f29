#!/usr/bin/env bash
# What `duet fabric` reaches over four rails of 1 Gbit/s: targets.sh PROGRAM.
source "$(dirname "$0")/check.sh"
open_rails 1gbit

ends() {
  both_ends --rails r0,r1,r2,r3 --link-gbit 1 --warm-up 0 --csv table.csv "$@"
  [[ ${codes[*]} == "0 0" ]]
}

source "$here/expected_rates.sh"
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
exit $((failures > 0))
