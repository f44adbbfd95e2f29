#!/usr/bin/env bash
# duet compare: exit codes, the gate, and what is said of files that are no journals.
source "$(dirname "$0")/check.sh"

expect_code 0 copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K,1M --iterations 3 \
  --json base.jsonl --quiet
expect_code 0 copy --device sim:h200-4 --kind local --executor dma --sizes 64K,1M --iterations 3 \
  --json other.jsonl --quiet
expect_code 0 gemm --device sim:mi300x-8 --shapes 64x64x64 --iterations 3 --json gemm.jsonl --quiet
# The same, with the last case slower: by a tenth in each of its times.
slower=$(tail -n 1 base.jsonl | sed 's/.*"median":\([^,]*\),.*/\1/' | awk '{ printf "%.9g", $1 / 0.9 }')
{
  head -n -1 base.jsonl
  tail -n 1 base.jsonl | sed -E "s/\"(median|mean|min|p5|p95|p99|ci_low|ci_high)\":[^,]*/\"\1\":$slower/g"
} > slow.jsonl
{ head -n 1 base.jsonl; tail -n 1 base.jsonl; } > part.jsonl
{
  head -n -1 base.jsonl
  tail -n 1 base.jsonl | sed 's/"outcome":"measured"/"outcome":"wrong","failed":{"reason":"byte 7 differs"}/'
} > wrong.jsonl

# What has not changed is counted.
expect_code 0 compare base.jsonl base.jsonl --fail-on-regression 0%
grep -qx '2 cases: 0 worse, 0 better, 2 unchanged' out || fail "unchanged: $(cat out)"
grep -q 'local' out && fail "unchanged cases are shown: $(cat out)"
[[ ! -s err ]] || fail "unchanged, and yet: $(cat err)"
expect_code 0 compare base.jsonl base.jsonl --all
[[ $(grep -c 'unchanged$' out) == 3 ]] || fail "--all: $(cat out)"

# A change is no error unless it was asked for.
expect_code 0 compare base.jsonl slow.jsonl --csv table.csv
grep -qE 'copy +duet +local .* -10\.0% +0\.0% +worse' out || fail "slower: $(cat out)"
grep -q '^2 cases: 1 worse, 0 better, 1 unchanged; table: table.csv$' out || fail "slower: $(cat out)"
grep -qE '^  copy +2 +-5\.1% +geometric mean of the rates +-10\.0% +\+0\.0%$' out ||
  fail "the line of a benchmark: $(cat out)"
grep -q '^A rate counts as worse only if it fell by more than ' out || fail "noise: $(cat out)"
[[ $(wc -l < table.csv) == 3 ]] || fail "--csv: $(cat table.csv)"
refuses 'exists' compare base.jsonl slow.jsonl --csv table.csv
expect_code 0 compare base.jsonl slow.jsonl --fail-on-regression 15%
expect_code 1 compare base.jsonl slow.jsonl --fail-on-regression 5%
grep -qx 'duet: worse by more than 5%, or broken: 1' err || fail "the gate: $(cat err)"
grep -qE 'duet: copy on sim:mi300x-8, duet, local .*: -10\.0%' err || fail "the gate: $(cat err)"
expect_code 0 compare slow.jsonl base.jsonl --fail-on-regression 5%
expect_code 0 compare base.jsonl wrong.jsonl
expect_code 1 compare base.jsonl wrong.jsonl --fail-on-regression 50%
grep -q 'wrong: byte 7 differs' err || fail "a case that became wrong: $(cat err)"

# As one JSON document, also to standard output.
expect_code 0 compare base.jsonl slow.jsonl --json slow.json
grep -q 'unchanged; JSON: slow.json$' out || fail "--json: $(cat out)"
expect_code 0 compare base.jsonl slow.jsonl --json -
diff slow.json out || fail "--json -"
grep -q '^2 cases: 1 worse' err || fail "--json -: $(cat err)"
refuses 'exists' compare base.jsonl slow.jsonl --json slow.json
refuses 'exists' compare base.jsonl slow.jsonl --csv other.csv --json slow.json
refuses 'expected one of them' compare base.jsonl slow.jsonl --json - --csv -
expect_code 0 compare base.jsonl part.jsonl --json part.json
if command -v python3 > /dev/null; then
  python3 - << 'END' || fail "--json: $(cat slow.json)"
import json
slow, part = json.load(open('slow.json')), json.load(open('part.json'))
assert slow['type'] == 'comparison' and slow['schema'] == 1
assert slow['base'][0]['file'] == 'base.jsonl' and slow['new'][0]['file'] == 'slow.jsonl'
assert slow['base'][0]['machines'][0]['models'] == ['AMD Instinct MI300X'] * 8
assert slow['counts']['worse'] == 1 and slow['counts']['unchanged'] == 1
worse = slow['cases'][1]
assert worse['verdict'] == 'worse' and abs(worse['change_percent'] + 10) < 0.01
assert worse['case']['bytes'] == 1048576 and worse['rate'] == 'gb_per_s'
assert worse['new']['seconds']['median'] > worse['base']['seconds']['median']
missing = [one for one in part['cases'] if one['verdict'] == 'missing']
assert len(missing) == 1 and missing[0]['new'] is None and missing[0]['base']['runs'] == 1
assert missing[0]['change_percent'] is None
END
fi

# Several runs a side, as words or as flags.
cp base.jsonl again.jsonl
cp slow.jsonl slower.jsonl
expect_code 1 compare base.jsonl again.jsonl : slow.jsonl slower.jsonl --fail-on-regression 5%
cp out words
grep -qx 'new:  slower.jsonl on sim:mi300x-8 (8 x AMD Instinct MI300X)' out || fail "sides: $(cat out)"
expect_code 1 compare --base base.jsonl --base again.jsonl --new slow.jsonl --new slower.jsonl \
  --fail-on-regression 5%
diff words out || fail "words and flags differ"
expect_code 0 compare base.jsonl again.jsonl : base.jsonl --fail-on-regression 0%

# A run on a real machine keeps how busy it was; going on with it adds its own end.
copy_host() {
  expect_code 0 copy --device host --kind local --executor dma --sizes 64K --seconds 0.02 --quiet "$@"
}
copy_host --json host.jsonl
tail -n 1 host.jsonl | grep -q '^{"type":"end","schema":1,"time_utc":".*"load":{"average":' ||
  fail "a run's end: $(tail -n 1 host.jsonl)"
copy_host --json host.jsonl --resume
[[ $(grep -c '"type":"end"' host.jsonl) == 2 ]] || fail "the ends of two runs: $(cat host.jsonl)"
expect_code 0 compare host.jsonl host.jsonl --fail-on-regression 0%
copy_host --json same.jsonl --reproducible
grep -q '"end"\|"load"' same.jsonl && fail "--reproducible keeps the load: $(cat same.jsonl)"

# A machine that was busy is told of, and cases that the noise hides.
host() { sed 's/"kind":"sim"/"kind":"host"/; s/"virtual_time":true/"virtual_time":false/' "$1"; }
host base.jsonl > calm.jsonl
{
  host slow.jsonl
  echo '{"type":"end","schema":1,"load":{"average":9.5,"others":0.63,"steal":0.02}}'
} > busy.jsonl
expect_code 0 compare calm.jsonl busy.jsonl --fail-on-regression 5%
grep -qx 'duet: busy.jsonl: the machine was busy: others used 63% of the CPU, 2% was stolen' err ||
  fail "load: $(cat err)"
grep -q 'too noisy to tell' out || fail "too noisy: $(cat out)"
grep -q 'cases the noise is above 10%: several journals per side reduce it' err ||
  fail "noise: $(cat err)"

# What is missing does not fail the gate, but is said.
expect_code 0 compare base.jsonl part.jsonl
grep -q '1 missing' out || fail "missing: $(cat out)"
[[ ! -s err ]] || fail "missing, without a gate: $(cat err)"
expect_code 0 compare base.jsonl part.jsonl --fail-on-regression 5%
grep -q 'missing in NEW: 1' err || fail "missing, at the gate: $(cat err)"

# Other devices, other benchmarks.
refuses 'sim:mi300x-8 (8 x AMD Instinct MI300X), other.jsonl of sim:h200-4' compare base.jsonl other.jsonl
expect_code 0 compare base.jsonl other.jsonl --across-devices
grep -q '^2 cases: ' out || fail "--across-devices: $(cat out)"
refuses 'no case in common' compare base.jsonl gemm.jsonl

# Two journals of skipped cases have nothing to compare.
{
  head -n -2 base.jsonl
  tail -n 2 base.jsonl | sed 's/"outcome":"measured"/"outcome":"skipped","skipped":{"reason":"no"}/'
} > skipped.jsonl
expect_code 1 compare base.jsonl skipped.jsonl
grep -qx 'duet: nothing was compared: no case has a figure in both journals' err ||
  fail "skipped in one: $(cat err)"

# A line that was cut short is warned of.
{ cat base.jsonl; printf '{"type":"result","sch'; } > cut.jsonl
expect_code 0 compare base.jsonl cut.jsonl
grep -q '^duet: cut.jsonl:4: the last record was cut short' err || fail "cut short: $(cat err)"

# Files that are no journals, or not whole.
refuses 'expected BASE NEW, several a side as BASE... : NEW' compare base.jsonl
refuses '3 given' compare base.jsonl slow.jsonl base.jsonl
refuses 'expected BASE NEW' compare
refuses 'expected BASE NEW' compare base.jsonl :
refuses 'expected BASE NEW' compare --base base.jsonl
refuses "two ':'" compare base.jsonl : slow.jsonl : base.jsonl
refuses 'base.jsonl is there twice on one side' compare base.jsonl base.jsonl : slow.jsonl
refuses 'expected one of both' compare base.jsonl slow.jsonl --new base.jsonl
refuses 'nowhere.jsonl: no such file: expected a journal, as --json writes' compare base.jsonl nowhere.jsonl
refuses 'cannot be read as a journal' compare base.jsonl .
: > empty.jsonl
refuses 'empty.jsonl: empty: expected a journal' compare empty.jsonl base.jsonl
head -n 1 base.jsonl > start.jsonl
refuses 'start.jsonl: without any result: expected a journal' compare start.jsonl base.jsonl
tail -n 1 base.jsonl > nowhere-else.jsonl
refuses 'no environment that names a machine' compare base.jsonl nowhere-else.jsonl
sed 's/"schema":1/"schema":2/' base.jsonl > later.jsonl
refuses 'later.jsonl:1: the record has schema 2, this version of duet reads schema 1' compare later.jsonl base.jsonl
{ head -n 1 base.jsonl; echo nonsense; tail -n 1 base.jsonl; } > damaged.jsonl
refuses 'damaged.jsonl:2: not a JSON record' compare base.jsonl damaged.jsonl
sed '2s/"median":[^,]*/"median":"soon"/' base.jsonl > odd.jsonl
refuses 'odd.jsonl:2: "seconds.median": expected a number, 0 or more' compare base.jsonl odd.jsonl
for share in 5 0.05 -5% 101% nan% 0x5% % five; do
  refuses 'expected one like 5%' compare base.jsonl base.jsonl "--fail-on-regression=$share"
done

code=0
"$duet" compare base.jsonl base.jsonl > /dev/full 2> err || code=$?
[[ $code == 1 ]] || fail "a full standard output went unnoticed: $code"
finish
