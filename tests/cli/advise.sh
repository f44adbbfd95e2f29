#!/usr/bin/env bash
# duet advise: what it refuses, measures, keeps and says, and how its advice scores.
paper=$(realpath "$(dirname "$0")/../../docs/results/h200-4/overlap/paper.jsonl")
source "$(dirname "$0")/check.sh"
export DUET_ADVICE=$folder/made/by/duet/advice.json

pair=(--compute gemm:16384x16384x8192 --communicate all_gather:512M)
refuses 'expected --compute with --communicate, or --measure, or --score' advise
refuses 'expected --compute with --communicate' advise --compute gemm:64x64x64
refuses 'expected --compute with --communicate' advise "${pair[@]}" --measure
refuses 'expected one machine' advise "${pair[@]}" --device sim:h200-4 --device sim:mi300x-8
refuses 'it has none: expected one, or --device to choose' advise "${pair[@]}" --table none.json
DUET_ADVICE=/dev/null/advice.json refuses 'cannot be written' advise --measure
echo '{"format": 1, "tables": [{"device": 1}]}' > damaged.json
refuses 'table file damaged.json: expected tables as duet advise --measure writes them: table 1' \
  advise "${pair[@]}" --table damaged.json

# Without a table it measures what it needs, and keeps nothing.
expect_code 0 advise "${pair[@]}" --device sim:h200-4 --iterations 1
grep -q '^advised: dma, ' out || fail "no advice: $(cat out)"
grep -q 'no table of this device' err || fail "not said that it measures: $(cat err)"
[[ ! -e $DUET_ADVICE ]] || fail "kept a table unasked"

# Also on the CPU, whose rates nobody promises.
expect_code 0 advise --compute gemm:256x256x256:fp32 --communicate all_gather:1M --device host:2 \
  --iterations 1
grep -q '^advised: ' out || fail "no advice on the CPU: $(cat out)"

# A table that is kept gives the same advice, on its own or from the journal of its cases.
expect_code 0 advise --measure --device sim:h200-4 --collectives all_gather --iterations 1 \
  --json probes.jsonl
grep -q "^table of 4 x sim:h200-4 stored in $DUET_ADVICE$" out || fail "not kept: $(tail -3 out)"
expect_code 0 advise "${pair[@]}" --device sim:h200-4
[[ ! -s err ]] || fail "measured again: $(cat err)"
cp out with_table
for table in "$DUET_ADVICE" probes.jsonl; do
  expect_code 0 advise "${pair[@]}" --table "$table"
  cmp -s out with_table || fail "by $table: $(diff out with_table)"
done
expect_code 0 advise --measure --device sim:h200-4 --collectives all_gather --iterations 1 --quiet
[[ ! -s out && ! -s err ]] || fail "--quiet is not: $(cat out err)"

# Scores.
expect_code 0 overlap --device sim:h200-4 "${pair[@]}" --iterations 1 --json sweep.jsonl --quiet \
  --policy serial,base,priority,dma
expect_code 0 advise --score sweep.jsonl
grep -q '^right (within 1% of the best) in 1 of 1, worst loss 0' out || fail "score: $(cat out)"
# Each scenario by the others: what stands in docs/overlap.md.
expect_code 0 advise --score "$paper" --table "$paper"
grep -q '^right (within 1% of the best) in 30 of 30, worst loss 0.9%$' out || fail "H200: $(cat out)"
refuses 'it has 4 x sim:h200-4: expected 8 x sim:mi300x-8' advise "${pair[@]}" \
  --table "$DUET_ADVICE" --device sim:mi300x-8
refuses 'expected 4 x NVIDIA H200 (duet advise --measure makes it)' advise --score "$paper"
refuses 'measured on 4 x NVIDIA H200: expected 4 x sim:h200-4' advise "${pair[@]}" \
  --table "$paper" --device sim:h200-4
refuses 'none.jsonl' advise --score none.jsonl
finish
