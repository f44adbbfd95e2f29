#!/usr/bin/env bash
# duet soak: nothing is found where nothing is wrong, planted faults are found and placed, a run that was
# killed goes on, its metrics.
source "$(dirname "$0")/check.sh"

simulated=(soak --device sim:h200-4 --seed 1)

# An hour of virtual time; what is in the journal, and the metrics.
expect_code 0 "${simulated[@]}" --hours 1 --round-seconds 120 --json hour.jsonl --prometheus hour.prom
[[ $(wc -l < out) == 1 ]] || fail "expected one line: $(cat out)"
grep -qE "^duet soak: OK $(hostname): 3[01] rounds in 1.0 h on 4 devices: .* compared, 0 wrong results, .*; rates (0.9[0-9]|1.00) to 1.0[0-9] " out ||
  fail "an hour: $(cat out)"
[[ ! -s err ]] || fail "in order, and yet: $(cat err)"
[[ $(grep -c '"benchmark":"soak".*"outcome":"measured".*"verified":true' hour.jsonl) -ge 30 ]] || fail "records: $(wc -l < hour.jsonl)"
[[ $(grep -o '"gemm":"[^"]*"' hour.jsonl | sort -u | wc -l) -ge 3 ]] || fail "shapes do not change"
grep -qx 'duet_soak_ok 1' hour.prom && grep -qx 'duet_soak_running 0' hour.prom || fail "metrics: $(cat hour.prom)"
[[ $(grep -v '^#' hour.prom | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l) == 0 ]] || fail "a sample twice"
if command -v promtool > /dev/null; then
  promtool check metrics < hour.prom > promtool.out 2>&1 || fail "promtool: $(cat promtool.out)"
fi

# Each fault is found in its round and placed, and nothing else is.
found() {  # ROUND FAULT PLACE
  [[ $(grep -c "^round $1: $2 at $3: " out) == 1 ]] || fail "$2: $(cat out)"
  grep -qx "duet_soak_findings{fault=\"$2\",place=\"$3\"} 1" faults.prom || fail "$2: $(cat faults.prom)"
}
expect_code 1 "${simulated[@]}" --rounds 12 --verbose --prometheus faults.prom \
  --inject memory@1:2,core@2:2,counter@3:2,xid@4:2,link@5:2,slow@7:2,lost@9:2
shift_of() { sed -n "s/.*\"round\":$1,.*\"shift\":\([0-9]*\).*/\1/p" hour.jsonl; }
found 1 memory sim:h200-4:2
found 2 core sim:h200-4:2
found 3 counter sim:h200-4:2
found 4 xid sim:h200-4:2
found 5 link "sim:h200-4:2 > sim:h200-4:$(((2 + $(shift_of 5)) % 4))"
found 7 slow sim:h200-4:2
found 9 lost sim:h200-4:2
grep -q "^duet soak: FAIL $(hostname): round 1: memory at .*; 4 more faults; 9 rounds in .*, 3 wrong results" out || fail "all faults: $(cat out)"
grep -qx 'duet_soak_ok 0' faults.prom || fail "metrics: $(cat faults.prom)"
expect_code 1 soak --device host:2 --seed 1 --round-seconds 0.1 --rounds 3 --verbose --prometheus faults.prom \
  --inject memory@1:1,link@2:0,core@3:1
found 1 memory host:1
found 2 link 'host:0 > host:1'
found 3 core host:1
grep -q ', 3 wrong results' out || fail "not these alone: $(cat out)"
grep -qE '1 of [0-9]+ bytes differ, the first at offset [0-9]+ \(address 0x[0-9a-f]+\): 0x.. instead of 0x..' out || fail "no bits: $(cat out)"

# A round alone is the same again, with its fault; --stop-on error ends after it.
expect_code 1 "${simulated[@]}" --round 7 --inject core@7:0 --json alone.jsonl
one() { grep -o '"round":7,.*"outcome"' "$1"; }
[[ $(one alone.jsonl) == "$(one hour.jsonl)" ]] || fail "round 7 alone: $(one alone.jsonl)"
expect_code 1 "${simulated[@]}" --rounds 9 --stop-on error --inject counter@2:0 --json stopped.jsonl
grep -q '; 2 rounds in ' out || fail "--stop-on error: $(cat out)"
expect_code 0 "${simulated[@]}" --rounds 3 --inject counter@2:0 --allow pcie_replays=1

# A lost device ends the run; resumed, it goes on with the next round, and the line tells all of it.
expect_code 1 "${simulated[@]}" --rounds 4 --inject lost@2:3 --json lost.jsonl
grep -q '; 2 rounds in ' out || fail "a lost device: $(cat out)"
expect_code 1 "${simulated[@]}" --rounds 4 --json lost.jsonl --resume
grep -q 'round 2: lost at sim:h200-4:3: .*; 4 rounds in ' out || fail "resumed: $(cat out)"

# Killed in the middle: no round is lost, none is made twice, and the seed stays.
many=(soak --device host --round-seconds 0.2 --rounds 12 --json killed.jsonl)
"$duet" "${many[@]}" > out 2> err &
process=$!
for _ in $(seq 600); do
  [[ -e killed.jsonl && $(wc -l < killed.jsonl) -ge 4 ]] && break
  sleep 0.05
done
kill -KILL "$process"
wait "$process" 2> /dev/null || true
before=$(grep -c '"benchmark":"soak"' killed.jsonl)
[[ $before -ge 2 && $before -lt 12 ]] || fail "killed after $before rounds"
printf '{"type":"result","sch' >> killed.jsonl
expect_code 0 "${many[@]}" --resume
grep -q ': 12 rounds in ' out || fail "resumed: $(cat out)"
rounds() { grep -o '"round":[0-9]*,"seed":[0-9]*' killed.jsonl; }
[[ $(rounds | cut -d: -f2 | cut -d, -f1 | tr '\n' ' ') == '1 2 3 4 5 6 7 8 9 10 11 12 ' ]] || fail "rounds: $(rounds)"
[[ $(rounds | cut -d: -f3 | sort -u | wc -l) == 1 ]] || fail "another seed: $(rounds)"
refuses 'give --resume' "${many[@]}"
refuses 'has the seed' "${many[@]}" --resume --seed 3

# Interrupted: the summary, and how to go on.
"$duet" soak --device host --hours 5 --round-seconds 0.2 --json int.jsonl > out 2> err &
process=$!
for _ in $(seq 600); do
  [[ -e int.jsonl && $(wc -l < int.jsonl) -ge 3 ]] && break
  sleep 0.05
done
kill -TERM "$process"
code=0
wait "$process" || code=$?
[[ $code == 1 ]] || fail "interrupted: exit $code: $(cat out err)"
grep -q "^duet soak: STOPPED $(hostname): interrupted; [0-9]* rounds in " out || fail "interrupted: $(cat out)"
grep -q 'resume with: .* --resume$' err || fail "how to go on: $(cat err)"

expect_code 1 soak --device cuda:63 --rounds 1
grep -q 'FAIL.*cuda:63' out || fail "a GPU that is gone: $(cat out)"
refuses 'expected one of them' soak --hours 1 --rounds 3
refuses 'expected --seed' soak --round 3
refuses 'FAULT@ROUND:DEVICE' "${simulated[@]}" --inject memory
refuses 'from 0 to 3' "${simulated[@]}" --inject memory@1:4
refuses "'rust'" "${simulated[@]}" --inject rust@1:0
refuses "'rust'" "${simulated[@]}" --allow rust=1
refuses '--stop-on' "${simulated[@]}" --stop-on rain
refuses 'expected one machine' soak --device host,sim:h200-4 --rounds 1
echo precious > notes
refuses 'notes exists' "${simulated[@]}" --rounds 1 --prometheus notes
finish
