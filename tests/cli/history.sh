#!/usr/bin/env bash
# duet history: journals into a store, figures over time out of it; read by the program sqlite3 too.
source "$(dirname "$0")/check.sh"

expect_code 0 copy --device sim:h200-4 --sizes 1M,64M --matrix 0 --json one.jsonl --quiet
expect_code 0 copy --device sim:h200-4 --sizes 1M,64M --matrix 0 --json two.jsonl --quiet
sed -i 's/"time_utc":"[^"]*"/"time_utc":"2026-01-01T00:00:00Z"/' one.jsonl
sed -i 's/"time_utc":"[^"]*"/"time_utc":"2026-01-02T00:00:00Z"/' two.jsonl
run history one.jsonl --store probe.sqlite
if grep -q 'needs SQLite' err; then
  [[ $code == 1 && $(wc -l < err) == 1 ]] || fail "without SQLite: exit $code: $(cat err)"
  echo "skipped: $(cat err)"
  exit 77
fi
expect_code 0 history two.jsonl one.jsonl --store runs.sqlite
[[ $(grep -c '1 added, 0 replaced' out) == 2 ]] || fail "not added: $(cat out)"
expect_code 0 history one.jsonl --store runs.sqlite
grep -q '0 added, 1 replaced' out || fail "not replaced: $(cat out)"

expect_code 0 history --store runs.sqlite
grep -qE 'sim:h200-4, .*H200.* on ' out || fail "no line of the device: $(cat out)"
grep -qE ' gb_per_s +2 .*\+0\.0%$' out || fail "no figure of two runs: $(cat out)"
expect_code 0 history --store runs.sqlite --match 'copy peer dma push pair 1 MiB' --over-time
[[ $(grep -oE '2026-01-0[12]' out | head -2 | tr '\n' ' ') == '2026-01-01 2026-01-02 ' ]] ||
  fail "not by time: $(cat out)"
expect_code 0 history --store runs.sqlite --csv -
[[ $(head -n 1 out) == time_utc,host,* && $(grep -c '^2026-01-02' out) -ge 2 ]] || fail "CSV: $(head out)"
if command -v sqlite3 > /dev/null; then
  [[ $(sqlite3 runs.sqlite 'SELECT count(*) FROM run') == 2 ]] || fail "sqlite3 finds other runs"
  [[ $(sqlite3 runs.sqlite 'PRAGMA integrity_check') == ok ]] || fail "the file is not whole"
fi

expect_code 0 copy --device sim:h200-4 --sizes 1M --matrix 0 --json timeless.jsonl --reproducible --quiet
refuses "expected --time" history timeless.jsonl --store runs.sqlite
refuses "expected --time" history one.jsonl timeless.jsonl --store none.sqlite
[[ ! -e none.sqlite ]] || fail "the first of two journals was added"
refuses "--time yesterday" history timeless.jsonl --store runs.sqlite --time yesterday
refuses "--time 2026-02-30" history timeless.jsonl --store runs.sqlite --time 2026-02-30T00:00:00Z
expect_code 0 history timeless.jsonl --store runs.sqlite --time 2026-01-03T00:00:00Z
# Two journals without a time of their own, of one machine: neither takes the other's figures away.
expect_code 0 gemm --device sim:h200-4 --shapes 64x64x64 --json gemm.jsonl --reproducible --quiet
expect_code 0 history gemm.jsonl timeless.jsonl --store both.sqlite --time 2026-01-03T00:00:00Z
[[ $(grep -c '1 added, 0 replaced' out) == 2 ]] || fail "not added: $(cat out)"
expect_code 0 history --store both.sqlite --csv -
[[ $(cut -d, -f4 out | sort -u | tr '\n' ' ') == 'benchmark copy gemm ' ]] || fail "figures are gone: $(cat out)"
refuses "expected --store" history one.jsonl
refuses "no such store" history --store nowhere.sqlite
refuses "no such figure" history --store runs.sqlite --match gemm
refuses "expected without journals" history one.jsonl --store runs.sqlite --over-time
refuses "not a database" history one.jsonl --store one.jsonl
refuses "expected the name of a file" history one.jsonl --store :memory:
refuses "expected the name of a file" history one.jsonl --store -
refuses "missing.jsonl" history missing.jsonl --store runs.sqlite

# Several at once: each waits for the others.
for i in 1 2 3 4 5 6; do
  sed "s/2026-01-02/2026-02-0$i/" two.jsonl > many.$i.jsonl
  "$duet" history many.$i.jsonl --store many.sqlite > /dev/null 2> many.$i.err &
done
for job in $(jobs -p); do wait "$job" || fail "at once: $(cat many.*.err)"; done
expect_code 0 history --store many.sqlite --match '1 MiB push pair dma'
grep -qE ' gb_per_s +6 ' out || fail "not all of six runs: $(cat out)"
finish
