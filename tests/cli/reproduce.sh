#!/usr/bin/env bash
# duet reproduce: a study's figures beside those of a simulated machine; and what is fitted to the
# study's scenarios holds for nothing else.
source "$(dirname "$0")/check.sh"

refuses "study 'concl' (did you mean 'conccl'?)" reproduce concl
refuses 'expected a simulated machine' reproduce --sensitivity --device host:2
refuses 'expected a platform without options' reproduce --sensitivity --device sim:p5-48xlarge:nodes=3
refuses 'expected two devices or more' reproduce --device host:1

expect_code 0 reproduce
for row in 'c3_base +base +0\.21 ' 'ConCCL +dma +0\.66 ' 'ConCCL_rp +dma, and dma\+partition where the GEMM is bound by memory +0\.72 '; do
  grep -qE "^  $row" out || fail "no row $row: $(cat out)"
done
grep -q 'classes as reported in 30 of 30 scenarios' out || fail "classes: $(cat out)"
# Another machine is not near.
expect_code 1 reproduce --device sim:h200-8
grep -q 'simulated on sim:h200-8' out || fail "the machine is not named: $(cat out)"

# A shape of the study and its neighbour run at one rate, and say what that rests on.
expect_code 0 gemm --device sim:mi300x-8 --shapes 8192x57344x8192,8192x57216x8192 --json gemm.jsonl
command -v python3 > /dev/null || {
  echo "journals not read: no python3"
  finish
  exit 0
}
python3 - <<'PY' || fail "the shapes of the study differ from their neighbours"
import json
rates = [json.loads(line) for line in open('gemm.jsonl')]
rates = [one for one in rates if one['type'] == 'result' and one['benchmark'] == 'gemm']
a, b = (one['rates']['tflops'] for one in rates)
assert abs(a / b - 1) < 0.02, (a, b)
for one in rates:
    assert 'Table II' in one['notes']['fitted_to'], one['notes']
    assert one['notes']['compared_with'] == 'no measurement of this kind was ever compared'
PY
# The study's scenario says what is fitted of it; the same works without the scenario do not have that.
one=(--device sim:mi300x-8 --policy dma --iterations 1)
expect_code 0 overlap paper "${one[@]}" --json paper.jsonl
expect_code 0 overlap --compute gemm:8192x57344x8192 --communicate all_gather:896M "${one[@]}" --json own.jsonl
python3 - <<'PY' || fail "what is fitted of scenarios"
import json
def overlaps(file):
    all = [json.loads(line) for line in open(file)]
    return [one for one in all if one.get('benchmark') == 'overlap']
study = {one['case']['scenario']: one for one in overlaps('paper.jsonl')}
fitted = {name for name, one in study.items() if 'fitted_scenario' in one['notes']}
assert fitted == {name for name in study if name.startswith('mb')}, fitted
[own] = overlaps('own.jsonl')
assert 'fitted_scenario' not in own['notes']
ratio = study['mb1_896M all_gather']['metrics']['compute_seconds'] / own['metrics']['compute_seconds']
assert ratio > 2, ratio
PY
finish
