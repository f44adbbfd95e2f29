#!/usr/bin/env bash
# duet health: one line and an exit code, metrics for Prometheus, a limit of time.
specs=$(realpath "$(dirname "$0")/../../specs")
source "$(dirname "$0")/check.sh"

# one_line CODE ARGUMENT...: that the run prints one line, and which word goes with which code.
one_line() {
  local word=OK
  expect_code "$@"
  [[ $1 == 0 ]] || word=FAIL
  [[ $(wc -l < out) == 1 ]] || fail "duet ${*:2}: expected one line: $(cat out)"
  grep -q "^duet health: $word $(hostname): " out || fail "duet ${*:2}: expected $word: $(cat out)"
}

one_line 0 health --device sim:h200-4 --json journal.jsonl --prometheus metrics.prom
grep -q '[1-9][0-9]* figures PASS' out || fail "no figure was judged: $(cat out)"
# Each of the four devices: its GEMM, its memory, its link to the host, and every pair.
for ((i = 0; i < 4; ++i)); do
  grep -q "\"benchmark\":\"gemm\",\"device\":\"sim:h200-4:$i\".*\"measured\"" journal.jsonl || fail "no GEMM of $i"
  for kind in local host_to_device device_to_host; do
    grep -q "\"kind\":\"$kind\".*sim:h200-4:$i\".*\"measured\"" journal.jsonl || fail "no copy $kind of $i"
  done
done
[[ $(grep -c '"kind":"peer".*"pattern":"pair"' journal.jsonl) -ge 12 ]] || fail "not every pair was measured"
grep -qx 'duet_health_ok 1' metrics.prom || fail "metrics: $(cat metrics.prom)"
grep -q '^duet_figure_expected_ratio{benchmark="copy",.*case="host_to_device .* > 3"' metrics.prom || fail "no ratio of a copy"
[[ $(grep -v '^#' metrics.prom | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l) == 0 ]] || fail "a sample twice"
if command -v promtool > /dev/null; then
  promtool check metrics < metrics.prom > promtool.out 2>&1 || fail "promtool: $(cat promtool.out)"
else
  echo "metrics not checked by promtool, which is not installed (Debian's package prometheus)"
fi

# A CPU's figures depend on what else runs: the line and the code agree, whatever they are.
run health --device host --prometheus metrics.prom
word=$([[ $code == 0 ]] && echo OK || echo FAIL)
grep -q "^duet health: $word .* figures PASS" out || fail "host: exit $code: $(cat out err)"
grep -qx "duet_health_ok $((code == 0))" metrics.prom || fail "host: exit $code: $(cat metrics.prom)"

one_line 0 health --device host --no-measurements
[[ $(wc -c < out) -lt 300 ]] || fail "a long line: $(cat out)"
expect_code 0 health --device host --no-measurements --verbose
for check in ecc links pcie clocks; do
  grep -q "^host.* $check: unknown: " out || fail "--verbose does not say that $check is not known: $(cat out)"
done

# A device that is gone is a fault, not bad usage; the metrics say so as well.
one_line 1 health --device sim:nosuch --prometheus metrics.prom
grep -q 'FAIL.*sim:nosuch' out || fail "the device is not named: $(cat out)"
grep -qx 'duet_health_ok 0' metrics.prom || fail "metrics: $(cat metrics.prom)"

# A machine with slower links than its model has.
sed 's/^pinned_gb_per_s = .*/pinned_gb_per_s = 5/' "$specs/platforms/h200.toml" > slow.toml
one_line 1 health --device sim:slow.toml:devices=2
grep -q 'FAIL.* copy host_to_device .*: LOW: ' out || fail "a slow link to the host: $(cat out)"

one_line 1 health --device host --seconds 0.2 --prometheus metrics.prom
grep -q 'not done after 0.2 s, while ' out || fail "what it waited for: $(cat out)"
grep -qx 'duet_health_ok 0' metrics.prom || fail "metrics of a run that was given up"

refuses "--seconds" health --seconds 0
refuses "expected without --no-measurements" health --no-measurements --json x.jsonl
expect_code 1 health --device host --no-measurements --prometheus nowhere/metrics.prom
grep -q 'nowhere/metrics.prom' err || fail "the file is not named: $(cat err)"
finish
