#!/usr/bin/env bash
# The suite quick: a case of each kind, and at its end what was found in a few lines.
source "$(dirname "$0")/check.sh"

expect_code 0 run quick --device host,sim:mi300x-8 --json quick.jsonl
[[ $(wc -l < out) -le 25 ]] || fail "over 25 lines: $(cat out)"
[[ $(sed '/^$/q' out | awk 'length > 100 && !/skipped/' | wc -l) == 0 ]] || fail "over 100 columns: $(cat out)"
for kind in gemm copy collective overlap; do
  for machine in host sim:mi300x-8; do
    [[ $(grep -cE "^  $kind +$machine" out) == 1 ]] || fail "no line of $kind on $machine: $(cat out)"
    grep -q "\"benchmark\":\"$kind\",\"device\":\"$machine.*\"outcome\":\"measured\"" quick.jsonl ||
      fail "$kind was not measured on $machine"
  done
done
grep -qE '^  fabric +host' out || fail "no line of fabric: $(cat out)"
if [[ -e $(dirname "$duet")/modules/duet_libfabric.so ]]; then
  grep -q '"benchmark":"fabric".*"outcome":"measured".*"verified":true' quick.jsonl ||
    fail "fabric was not measured: $(grep '"benchmark":"fabric"' quick.jsonl)"
else
  grep -qE '^  fabric +host +skipped: .*libfabric' out || fail "fabric without libfabric: $(cat out)"
fi
tail -n 1 out | grep -q 'journal: quick.jsonl' || fail "the journal is not named: $(cat out)"
grep -q '"outcome":"failed"\|"outcome":"wrong"' quick.jsonl && fail "some cases failed: $(cat out err)"

# All of it was measured: nothing is measured again, and --verbose has the tables.
expect_code 0 run quick --device host,sim:mi300x-8 --json quick.jsonl --resume --verbose
grep -q '^gemm on host' out || fail "--verbose has no tables: $(head -n 5 out)"
grep -q 'by the earlier run' out || fail "measured again: $(tail -n 1 out)"
finish
