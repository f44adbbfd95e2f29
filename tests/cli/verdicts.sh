#!/usr/bin/env bash
# Verdicts at the end of a run, --check, and the report that a run writes.
platforms=$(realpath "$(dirname "$0")/../../specs/platforms")
source "$(dirname "$0")/check.sh"

copy=(copy --kind peer --executor dma --issue push --pattern pair --one-way --sizes 16M --matrix 0
  --warm-up 0 --iterations 3)

expect_code 0 "${copy[@]}" --device sim:mi300x-8 --check
grep -q '^verdicts on simulated machines: 1 PASS$' out || fail "a healthy link does not pass: $(cat out)"
grep -q '^duet: --check: of 1 figures with an expectation 0 PASS, 1 PASS on simulated machines' err ||
  fail "a simulated PASS counts as measured: $(cat err)"

# with PLATFORM LINE...: a file of that built-in platform with other figures.
with() {
  cat "$platforms/$1.toml"
  printf '%s\n' "" "${@:2}"
}

# The same machine with links that carry half of what they should.
with mi300x '[link]' 'dma_push_gb_per_s = 25' > slow.toml
expect_code 0 "${copy[@]}" --device sim:slow.toml
grep -q '^verdicts on simulated machines: 1 LOW$' out || fail "a slow link is not LOW: $(cat out)"
grep -q 'to try: ' out || fail "no advice: $(cat out)"
expect_code 1 "${copy[@]}" --device sim:slow.toml --check --json slow.jsonl
grep -q 'check: of 1 figures with an expectation 1 are LOW' err || fail "--check: $(cat err)"
grep -q 'measured twice, the first time in' out || fail "no word of the repeat: $(cat out)"
grep -q '"first_median":' slow.jsonl || fail "the case was not repeated: $(cat slow.jsonl)"
[[ $(grep -c '"type":"result"' slow.jsonl) == 1 ]] || fail "one case has several records"

# Collectives and GEMMs of a machine that is well, of one with half its links and of a throttled one.
collectives=(collective all_gather,all_to_all,reduce_scatter,all_reduce,broadcast --engine dma,kernel,auto
  -d bfloat16 -n 1 -w 0 -c 0 --in-place out --check)
gemms=(gemm --shapes 8192x8192x8192,16384x8192x7168 --dtype bf16 --layout nn --warm-up 0 --iterations 3 --check)
with h200 '[link]' 'raw_gb_per_s = 225' 'dma_push_gb_per_s = 195.5' 'dma_pull_gb_per_s = 186' \
  'kernel_push_gb_per_s = 184' 'kernel_pull_gb_per_s = 175' > half.toml
for devices in 4 8; do
  well=h200:devices=$devices
  expect_code 0 "${collectives[@]}" --device sim:$well -b 64K -e 4G -f 16
  grep -q 'machines: [0-9]* PASS, [0-9]* no expectation$' out || fail "$well: $(grep -A9 ^verdicts out)"
  expect_code 1 "${collectives[@]}" --device sim:half.toml:devices=$devices -b 256M -e 4G -f 4
  grep -q 'machines: [0-9]* LOW\(, [0-9]* no expectation\)\?$' out || fail "half of $well: $(grep -A9 ^verdicts out)"
done
expect_code 0 "${gemms[@]}" --device sim:h200-4
with h200 '[device.peak_tflops]' 'bf16 = 594' > throttled.toml
expect_code 1 "${gemms[@]}" --device sim:throttled.toml
grep -q '^verdicts on simulated machines: 2 LOW$' out || fail "throttled: $(grep -A9 ^verdicts out)"

# Two commands, one journal: what the first one measured counts for the second one's verdicts.
with h200 '[link]' 'kernel_push_gb_per_s = 184' 'kernel_pull_gb_per_s = 175' > slow_kernels.toml
two=(collective all_gather -d bfloat16 -n 1 -w 0 -c 0 --in-place out -b 1G -e 1G --check
  --device sim:slow_kernels.toml:devices=4 --json engines.jsonl)
expect_code 0 "${two[@]}" --engine dma
expect_code 0 "${two[@]}" --engine kernel --resume
grep -q '^verdicts on simulated machines: 1 no expectation$' out || fail "kernel beside dma: $(grep -A9 ^verdicts out)"

# A link that is faster than its maker's: the measurement, or the name, is wrong.
with mi300x '[link]' 'dma_push_gb_per_s = 100' 'raw_gb_per_s = 128' '[device.dma]' 'engine_gb_per_s = 128' > fast.toml
expect_code 1 "${copy[@]}" --device sim:fast.toml --check
grep -q '^  SUSPECT-HIGH: copy peer' out || fail "a link beyond physics is not SUSPECT-HIGH: $(cat out)"

# Nothing to hold it against is said, and is no PASS.
with mi300x '[device]' 'model = "A GPU that nobody sells"' > unknown.toml
expect_code 0 "${copy[@]}" --device sim:unknown.toml --check
grep -q 'there was an expectation for none of the figures' err || fail "unknown device: $(cat err)"
grep -q PASS out && fail "an unknown device passes: $(cat out)"

run report nothing.jsonl
if grep -q 'without the report page' err; then  # built without Node.js
  refuses 'without the report page' "${copy[@]}" --device sim:mi300x-8 --report
  finish
  exit 0
fi

refuses 'expected a name that ends in .html' "${copy[@]}" --device sim:mi300x-8 --report page.txt
echo precious > page.html
refuses 'page.html exists' "${copy[@]}" --device sim:mi300x-8 --report page.html
refuses 'expected two files' "${copy[@]}" --device sim:mi300x-8 --json a.html --report ./a.html
refuses 'expected a suite before its flags: quick or seed' run --check
refuses 'expected a suite before its flags' run --report quick
[[ $(cat page.html) == precious ]] || fail "page.html was written over"
refuses 'expected the journals to show' report

expect_code 0 "${copy[@]}" --device sim:mi300x-8 --json run.jsonl --report
tail -n 1 out | grep -qx 'report: run.html' || fail "the run does not name its report: $(cat out)"
head -c 15 run.html | grep -q '<!doctype html>' || fail "run.html is no page"
expect_code 0 "${copy[@]}" --device sim:mi300x-8 --json run.jsonl --resume --report  # written anew
cp run.html before.html
refuses 'run.html exists' "${copy[@]}" --device sim:mi300x-8 --json other.jsonl --report run.html
cmp -s run.html before.html || fail "the page of another run was written over"
expect_code 0 report run.jsonl slow.jsonl -o both.html
grep -qx 'report: both.html' out || fail "duet report: $(cat out)"
! compgen -G '.*.part' > /dev/null || fail "a part of a report was left behind"
refuses 'page.html exists' report run.jsonl -o page.html
refuses 'expected a name that ends in .html' report run.jsonl -o page.txt
cat run.jsonl <(sed 's/AMD Instinct MI300X/AMD Instinct MI350X/' run.jsonl) > mixed.jsonl
refuses 'expected one machine of a name' report mixed.jsonl
printf '{"type":"env' > cut.jsonl
refuses 'cut short' report cut.jsonl
for page in run.html both.html; do
  grep -q 'id="data">{"duet"' "$page" || fail "$page has no data"
done
finish
