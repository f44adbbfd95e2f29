#!/usr/bin/env bash
# duet collective --tune: what it refuses, says and stores, and that auto goes by it.
source "$(dirname "$0")/check.sh"
export DUET_TUNING=$folder/made/by/duet/tuning.json

refuses 'expected one of them' collective all_gather --device host:2 --tune --engine dma
DUET_NCCL_RANKS=2 refuses '--tune: expected no DUET_NCCL_RANKS in the environment' collective all_gather --tune -b 64K
DUET_TUNING=/dev/null/tuning.json refuses 'cannot be written' collective all_gather --tune -b 64K

# What auto chose for the sizes of an all-gather, a line each.
choices() {
  expect_code 0 collective all_gather --device "$1" --engine auto -b 64K -e 1M -f 4 --in-place out \
    -n 1 -w 0 --json /dev/stdout --quiet
  grep -o '"algorithm":"[^"]*' out | grep -o 'one kernel\|direct pushes'
}

[[ $(choices sim:mi300x-8 | sort -u) == "one kernel" ]] || fail "built in: $(choices sim:mi300x-8)"
sim=(collective all_gather --device sim:mi300x-8 --tune -n 1 -w 0)
DUET_NCCL_LOG=info expect_code 0 "${sim[@]}" -b 64K -e 4M
grep -q '^auto: all_gather by .* (was by kernel at every size, built in)$' out || fail "sim: $(cat out)"
grep -q "^auto: stored for 8 x sim:mi300x-8 in one process in $DUET_TUNING$" out ||
  fail "where it was stored: $(cat out)"
cp "$DUET_TUNING" first.json
expect_code 0 "${sim[@]}" -b 64K -e 4M --quiet
[[ ! -s out && ! -s err ]] || fail "--quiet is not: $(cat out err)"
cmp -s "$DUET_TUNING" first.json || fail "virtual time tunes differently: $(cat "$DUET_TUNING")"

# All that have two ways, on another device; what was there stays.
expect_code 0 collective all --device host:2 --tune -b 4K -e 8K -n 1 -w 0
[[ $(grep -c '^auto: [a-z_]* by ' out) == 10 ]] || fail "ten collectives: $(cat out)"
for word in sim:mi300x-8 scatter '"several_processes": false'; do
  grep -q "$word" "$DUET_TUNING" || fail "no $word: $(cat "$DUET_TUNING")"
done
[[ $(ls "$(dirname "$DUET_TUNING")") == tuning.json ]] || fail "left beside it: $(ls made/by/duet)"

# auto goes by the file, and info shows it.
entry='{"format":1,"entries":[{"device":"sim:mi300x-8","ranks":8,"several_processes":false,"dma_from":'
echo "$entry{\"all_gather\":262144,\"gather\":null}}]}" > "$DUET_TUNING"
[[ $(choices sim:mi300x-8 | tr '\n' ' ') == "one kernel direct pushes direct pushes " ]] ||
  fail "from 256 KiB on by dma: $(choices sim:mi300x-8)"
[[ $(choices sim:h200-4 | sort -u) == "one kernel" ]] || fail "another device's threshold"
expect_code 0 info --device sim:mi300x-8
grep -q 'engine auto: all_gather by kernel below 256 KiB, gather by kernel at every size' out ||
  fail "info: $(cat out)"

# Damage is said, where it matters.
echo "$entry{\"all_gather\":-1}}]}" > "$DUET_TUNING"
auto=(collective all_gather --device host:2 -b 4K -n 1 -w 0 --engine)
refuses "tuning file $DUET_TUNING, entry 1: expected bytes from 0 to 1152921504606846976 or null (never) for all_gather, not -1" "${auto[@]}" auto
refuses 'expected bytes from 0' "${sim[@]}"
expect_code 0 "${auto[@]}" dma
expect_code 0 info --device host:2
grep -q 'expected bytes from 0' out || fail "info hides the damage: $(cat out)"
finish
