#!/usr/bin/env bash
# Standard output and the files that it can stand for: what cannot be written is said in one line,
# and --json - and --csv - have it to themselves.
source "$(dirname "$0")/check.sh"

short=(copy --device sim:mi300x-8 --kind local --executor dma --sizes 64K)
pair=(--compute gemm:64x64x64:fp32 --communicate all_gather:64K)

# unwritten ARGUMENT...: with a full disk behind standard output, exit 1 and one line.
unwritten() {
  code=0
  "$duet" "$@" > /dev/full 2> err || code=$?
  [[ $code == 1 ]] || fail "duet $* > /dev/full: exit $code, expected 1"
  [[ $(grep -c 'standard output cannot be written: No space left' err) == 1 && $(wc -l < err) == 1 ]] ||
    fail "duet $* > /dev/full: $(cat err)"
}

"$duet" "${short[@]}" --quiet --json a.jsonl
"$duet" overlap --device sim:h200-4 "${pair[@]}" --quiet --isolated --json overlap.jsonl
"$duet" overlap --device sim:h200-4 "${pair[@]}" --quiet --policy serial,base --json both.jsonl
"$duet" advise --device sim:h200-4 --measure --quiet --iterations 1 --collectives all_gather --table table.toml
unwritten --help
unwritten --version
unwritten copy --help
unwritten docs
unwritten run
unwritten info
unwritten info --device sim:mi300x-8 --json
unwritten "${short[@]}"
unwritten "${short[@]}" --json -
unwritten "${short[@]}" --csv -
unwritten collective all_gather --device host:2 -b 4K -n 1
unwritten compare a.jsonl a.jsonl
unwritten compare a.jsonl a.jsonl --csv -
unwritten advise "${pair[@]}" --table table.toml
unwritten predict both.jsonl --device sim:h200-4
unwritten calibrate overlap.jsonl

# gone ARGUMENT...: the reader of standard output has gone: whatever is left to be measured is not.
gone() {
  code=0
  { "$duet" "$@" 2> err || echo $? > code; } | head -n 1 > /dev/null
  [[ $(cat code) == 141 ]] || fail "duet $* | head: exit $(cat code), not that of SIGPIPE"
  ! grep -q 'cannot be written\|reader has gone\|Broken pipe' err || fail "duet $* | head: $(cat err)"
}
gone collective all_gather --device host:2 -b 4K -e 4M -n 1 --json piped.jsonl --verbose
for flag in --json --csv; do
  gone collective all_gather --device host:2 -b 4K -e 4M -n 1 --quiet $flag -
done

expect_code 1 advise --device sim:h200-4 "${pair[@]}" --json /dev/full
tail -n 1 err | grep -q 'No space left' || fail "advise --json /dev/full: $(cat err)"

# full ARGUMENT...: a flag that names a full disk: exit 1 and one line.
full() {
  expect_code 1 "$@"
  [[ $(wc -l < err) == 1 ]] || fail "duet $*: expected one line: $(cat err)"
  grep -q 'No space left' err || fail "duet $*: $(cat err)"
}
full "${short[@]}" --json /dev/full
full "${short[@]}" --csv /dev/full
full compare a.jsonl a.jsonl --csv /dev/full
full calibrate overlap.jsonl --out /dev/full
ln -s /dev/full page.html
if ! "$duet" report nothing.jsonl 2>&1 | grep -q 'without the report page'; then
  full report a.jsonl -o page.html
  full "${short[@]}" --report page.html
  unwritten report a.jsonl -o own.html
fi

# Records alone on standard output, all else on standard error.
expect_code 0 "${short[@]}" --json -
[[ $(wc -l < out) == 2 && $(grep -c '^{"type":' out) == 2 ]] || fail "--json -: $(cat out)"
grep -q '^copy on sim:mi300x-8' err || fail "--json - without tables: $(cat err)"
grep -q '^1 case: 1 measured$' err || fail "--json -: the end names a file: $(cat err)"
[[ ! -e ./- ]] || fail "--json - made a file"
expect_code 0 "${short[@]}" --csv -
[[ $(wc -l < out) == 2 && $(head -n 1 out) == benchmark,* ]] || fail "--csv -: $(cat out)"
grep -q '^copy on sim:mi300x-8' err || fail "--csv - without tables: $(cat err)"
expect_code 0 "${short[@]}" --json - --csv table.csv --quiet
[[ $(wc -l < out) == 2 && $(wc -l < table.csv) == 2 && ! -s err ]] || fail "--json - --csv: $(cat out err)"
expect_code 0 "${short[@]}" --json /dev/stdout
[[ $(grep -vc '^{"type":' out) == 0 ]] || fail "--json /dev/stdout has text between: $(cat out)"
# Behind what stands there already.
{ echo before; "$duet" "${short[@]}" --quiet --json /dev/stdout; } > both || fail "--json /dev/stdout behind other text"
[[ $(wc -l < both) == 3 && $(head -n 1 both) == before ]] || fail "--json /dev/stdout: $(cat both)"
expect_code 0 collective all_gather --device host:2 -b 64K --tune --json -
[[ $(grep -vc '^{"type":' out) == 0 ]] || fail "--tune --json -: $(cat out)"
expect_code 0 advise --device sim:h200-4 "${pair[@]}" --json -
[[ $(grep -vc '^{"type":' out) == 0 ]] || fail "advise --json -: $(cat out)"
grep -q '^advised:' err || fail "advise --json -: $(cat err)"
expect_code 0 compare a.jsonl a.jsonl --csv -
[[ $(wc -l < out) == 2 && $(head -n 1 out) == benchmark,* ]] || fail "compare --csv -: $(cat out)"
grep -q '1 unchanged' err || fail "compare --csv -: $(cat err)"
expect_code 0 calibrate overlap.jsonl --out -
grep -q '^\[device\]' out || fail "calibrate --out -: $(cat out)"
cp out mine.toml
expect_code 0 info --device sim:mine.toml
expect_code 0 advise --device sim:h200-4 --measure --iterations 1 --collectives all_gather --table -
grep -q '"tables"' out && ! grep -q '^[a-z]' out || fail "advise --measure --table -: $(cat out)"
cp out piped.toml
expect_code 0 advise "${pair[@]}" --table piped.toml
if [[ -e own.html ]]; then
  expect_code 0 report a.jsonl -o -
  [[ $(head -n 1 out) == '<!doctype html>' && $(tail -n 1 out) != report:* ]] || fail "report -o -: $(tail -n 1 out)"
  expect_code 0 "${short[@]}" --report -
  [[ $(head -n 1 out) == '<!doctype html>' ]] || fail "--report -: $(head -n 1 out)"
  grep -q '^1 case: 1 measured' err || fail "--report -: $(cat err)"
fi

# Streams that are closed: what is written for them lands in no file.
# closed STREAMS ARGUMENT...: without these streams exit 0.
closed() {
  code=0
  case $1 in
    1) "$duet" "${@:2}" >&- 2> err || code=$? ;;
    2) "$duet" "${@:2}" > out 2>&- || code=$? ;;
    *) "$duet" "${@:2}" <&- >&- 2>&- || code=$? ;;
  esac
  [[ $code == 0 ]] || fail "duet ${*:2}, without stream $1: exit $code"
}
for streams in 1 2 all; do
  closed $streams "${short[@]}" --json "closed.$streams.jsonl" --csv "closed.$streams.csv"
  [[ $(grep -vc '^{"type":' "closed.$streams.jsonl") == 0 ]] || fail "text in a journal: $(cat "closed.$streams.jsonl")"
  [[ $(wc -l < "closed.$streams.jsonl") == 2 && $(wc -l < "closed.$streams.csv") == 2 ]] ||
    fail "text in a table: $(cat "closed.$streams.csv")"
  expect_code 0 compare a.jsonl "closed.$streams.jsonl"
  closed $streams compare a.jsonl a.jsonl --csv "compared.$streams.csv"
  [[ $(wc -l < "compared.$streams.csv") == 2 ]] || fail "compare: text in a table: $(cat "compared.$streams.csv")"
  closed $streams calibrate overlap.jsonl --out "platform.$streams.toml"
  expect_code 0 info --device "sim:platform.$streams.toml"
  closed $streams health --device sim:h200-4 --no-measurements --prometheus "health.$streams.prom"
  grep -q '^duet health' "health.$streams.prom" && fail "health: text in the metrics: $(cat "health.$streams.prom")"
done
# Ranks talk over sockets, which must not get the numbers either; warnings are for standard error.
closed 2 collective all_reduce --device host:2 -b 64K -n 1 --engine host --json warned.jsonl
[[ $(grep -vc '^{"type":' warned.jsonl) == 0 ]] || fail "a warning in a journal: $(cat warned.jsonl)"
# Results that were asked for there would be lost.
for flag in --json --csv; do
  code=0
  "$duet" "${short[@]}" $flag - >&- 2> err || code=$?
  [[ $code == 2 ]] && grep -q 'standard output is closed' err || fail "$flag - without it: exit $code: $(cat err)"
done
refuses 'expected one of them on standard output' "${short[@]}" --json - --csv -
refuses 'expected one of them on standard output' "${short[@]}" --json /dev/stdout --csv -
refuses '--resume: expected a journal in a file' "${short[@]}" --json - --resume
finish
