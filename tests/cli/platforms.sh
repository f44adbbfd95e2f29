#!/usr/bin/env bash
# Simulated machines by platform and number of devices: aliases, journals that match, refusals.
platforms=$(realpath "$(dirname "$0")/../../specs/platforms")
source "$(dirname "$0")/check.sh"

pair=(copy --kind peer,local --pattern pair --one-way --sizes 64K,4M --matrix 0 --iterations 2
  --warm-up 0 --quiet --reproducible)

# same ALIAS NAME: both names give one journal, to the byte, and the machine is called by the alias.
same() {
  expect_code 0 "${pair[@]}" --device "sim:$1" --json "$1.jsonl"
  expect_code 0 "${pair[@]}" --device "sim:$2" --json other.jsonl
  cmp -s <(sed "s/sim:$2\"/sim:$1\"/g; s/sim:$2 /sim:$1 /g; s/other.jsonl/$1.jsonl/g" other.jsonl) "$1.jsonl" || fail "sim:$2 is not sim:$1"
  grep -q "\"sim:$1:1\"" other.jsonl || fail "sim:$2 is not called sim:$1: $(head -c 300 other.jsonl)"
  expect_code 0 compare "$1.jsonl" other.jsonl
  rm "$1.jsonl" other.jsonl
}
same h200-4 h200:devices=4
same h200-8 h200:devices=8
same h200-8 h200
same mi300x-8 mi300x:devices=8
same mi350x-8 mi350x:devices=8

expect_code 0 collective all_gather --device sim:h200:devices=2 -b 64K -e 64K --json two.jsonl
grep -q '^collective on sim:h200:devices=2 (2 x NVIDIA H200)$' out || fail "no two devices: $(cat out)"
expect_code 0 info --device sim:mi300x:devices=3

refuses "expected devices from 1 to 8, not '0'" "${pair[@]}" --device sim:h200:devices=0
refuses "expected devices from 1 to 8, not '-2'" "${pair[@]}" --device sim:h200:devices=-2
refuses "expected devices from 1 to 8, not 'many'" "${pair[@]}" --device sim:h200:devices=many
refuses "expected devices from 1 to 8, not '9'" "${pair[@]}" --device sim:mi300x:devices=9
refuses 'expected devices=N, nodes=N, rails=split' "${pair[@]}" --device sim:h200:gpus=2
refuses 'it has 4 devices: expected sim:h200:devices=2' "${pair[@]}" --device sim:h200-4:devices=2

# A file that names a device spec has its figures, but for those of its own.
cat > mine.toml "$platforms/h200.toml" - <<'TOML'

[link]
dma_push_gb_per_s = 100
TOML
expect_code 0 copy --kind peer --executor dma --issue push --pattern pair --one-way --sizes 1G --matrix 0 \
  --iterations 1 --warm-up 0 --device sim:mine.toml:devices=2
grep -q '^copy on sim:mine.toml:devices=2 (2 x NVIDIA H200)$' out || fail "no file: $(cat out)"
grep -qE '(99\.[0-9]+|100) GB/s' out || fail "the file's own figure does not count: $(cat out)"
sed -i 's/h200-sxm/b200/' mine.toml
refuses "mine.toml:6: 'device_spec' is 'b200'" "${pair[@]}" --device sim:mine.toml
finish
