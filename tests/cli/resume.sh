#!/usr/bin/env bash
# A run that is interrupted leaves a valid journal; resuming repeats nothing that is finished.
source "$(dirname "$0")/check.sh"

many=(copy --device host --kind local --executor dma --sizes 64K..8M --mode at_least --seconds 0.4
  --json journal.jsonl)

"$duet" "${many[@]}" > out 2> err &
process=$!
for _ in $(seq 600); do
  [[ -e journal.jsonl && $(wc -l < journal.jsonl) -ge 3 ]] && break
  sleep 0.05
done
kill -INT "$process"
code=0
wait "$process" || code=$?
[[ $code == 1 ]] || fail "interrupted: exit $code, expected 1"
grep -q 'interrupted after .* of 8 cases; resume with: .* --resume$' err || fail "interrupted: $(cat err)"
lines=$(wc -l < journal.jsonl)
[[ $lines -lt 9 ]] || fail "the run was not interrupted in the middle"
[[ $(tail -c 1 journal.jsonl) == '' ]] || fail "the journal's last line is not whole"
cp journal.jsonl before.jsonl

# A machine that dies in the middle of a write leaves part of a line.
printf '{"type":"result","sch' >> journal.jsonl
expect_code 0 "${many[@]}" --resume --csv table.csv
grep -q 'cut short' err || fail "no word of the line that was cut short: $(cat err)"
head -n "$lines" journal.jsonl | cmp - before.jsonl || fail "what was there has changed"
cases() { grep '"benchmark":"copy"' journal.jsonl | grep -o '"case":{[^}]*}'; }
[[ $(cases | wc -l) == 8 ]] || fail "expected 8 results, found $(cases | wc -l)"
[[ $(cases | sort -u | wc -l) == 8 ]] || fail "a case was repeated"
[[ $(grep -c '"environment"' journal.jsonl) == 2 ]] || fail "expected an environment for each run"
[[ $(grep -c '^copy,' table.csv) == 8 ]] || fail "the table lacks cases: $(cat table.csv)"

# A table of another run is not this one's to replace.
sed 's/,measured,/,skipped,/' table.csv > others.csv
cp others.csv before.csv
refuses 'has lines that are not of this journal' "${many[@]}" --resume --csv others.csv
cmp -s others.csv before.csv || fail "another run's table has changed"

# Once more: nothing is left to do.
before=$(grep -c '"result"' journal.jsonl)
expect_code 0 "${many[@]}" --resume --csv table.csv
grep -q '8 by the earlier run' out || fail "not all was resumed: $(cat out)"
[[ $(grep -c '"result"' journal.jsonl) == "$before" ]] || fail "a complete journal has grown"
finish
