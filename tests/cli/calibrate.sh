#!/usr/bin/env bash
# duet calibrate and duet predict: what they refuse, write and say; and that a platform made from
# what runs alone predicts what ran together on 4 x H200 as docs/simulation.md says.
measured=$(realpath "$(dirname "$0")/../../docs/results/h200-4")
source "$(dirname "$0")/check.sh"

isolated=$measured/overlap/isolated.jsonl
refuses 'JOURNALS is required' calibrate
refuses 'none.jsonl: no such file' calibrate none.jsonl
refuses 'expected a base of 4 devices with 132 compute units' calibrate "$isolated" --base mi300x-8
refuses "unknown platform 'h100-2'" calibrate "$isolated" --base h100-2
refuses 'have nothing to calibrate from' calibrate "$measured/collectives/broadcast.jsonl"
refuses 'expected figures of 4 x NVIDIA H200, as the others' \
  calibrate "$isolated" "$measured/../h100/quick.jsonl"
refuses 'JOURNAL is required' predict
refuses 'expected a simulated machine' predict "$measured/overlap/paper.jsonl" --device host:4
refuses 'expected a machine of 4 devices' predict "$measured/overlap/paper.jsonl" --device sim:h200-8
refuses 'expected a journal of duet overlap' predict "$isolated"

expect_code 0 calibrate "$isolated" "$measured"/{overlap/energy,copy,collectives/all_gather,collectives/all_to_all}.jsonl \
  --out mine.toml
grep -q '^  device.gemm.efficiency.bf16 .* 7 GEMMs on all units$' out || fail "no GEMMs: $(cat out)"
grep -q '^bf16 = 0.713  # calibrated: 7 GEMMs on all units$' mine.toml || fail "not written"
refuses 'mine.toml' calibrate "$isolated" --out mine.toml
refuses 'none/mine.toml' calibrate "$isolated" --out none/mine.toml

# within WHAT TIME FRACTION: the last line's means are at most those.
within() {
  awk -v what="$1" -v time="$2" -v fraction="$3" '
    $1 == "all" { seen = 1; if ($3 + 0 > time || $4 + 0 > fraction) { print what ": " $0; exit 1 } }
    END { if (!seen) exit 1 }' out || fail "$1: too far from what was measured: $(tail -3 out)"
}
for platform in mine.toml h200-4; do
  expect_code 0 predict "$measured/overlap/paper.jsonl" --device "sim:$platform" --quiet
  within "$platform" 6 0.10
  grep -q '^not simulated: zero-cta: ' out || fail "zero-cta is not said to be missing"
done
expect_code 0 predict "$measured/overlap/paper.jsonl" --device sim:h200-4
grep -qE '^  cb1_896M all_gather +dma +1\.837 ms +1\.8.. ms' out || fail "no cases: $(head -3 out)"
finish
