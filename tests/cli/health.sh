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
grep -q '[1-9][0-9]* simulated figures PASS' out || fail "no figure was judged: $(cat out)"
grep -q 'without expectation' out && fail "a figure of one device was not judged: $(cat out)"
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

# A GPU that is gone is a fault, not bad usage; the metrics say so as well.
one_line 1 health --device cuda:63 --prometheus metrics.prom
grep -q 'FAIL.*cuda:63' out || fail "the device is not named: $(cat out)"
grep -qx 'duet_health_ok 0' metrics.prom || fail "metrics: $(cat metrics.prom)"
refuses "unknown platform 'nosuch'" health --device sim:nosuch
refuses 'cuda:a' health --device cuda:a
refuses "unknown kind 'cdua'" health --device cdua --json none.jsonl

# A machine with slower links than its model has.
sed 's/^pinned_gb_per_s = .*/pinned_gb_per_s = 5/' "$specs/platforms/h200.toml" > slow.toml
one_line 1 health --device sim:slow.toml:devices=2
grep -q 'FAIL.* copy host_to_device .*: simulated LOW: ' out || fail "a slow link to the host: $(cat out)"

one_line 1 health --device host --seconds 0.2 --prometheus metrics.prom
grep -q 'not done after 0.2 s, while ' out || fail "what it waited for: $(cat out)"
grep -qx 'duet_health_ok 0' metrics.prom || fail "metrics of a run that was given up"

refuses "--seconds" health --seconds 0
refuses "expected without --no-measurements" health --no-measurements --json x.jsonl
refuses nowhere/metrics.prom health --device host --no-measurements --prometheus nowhere/metrics.prom

# Only an earlier check's file is replaced, and nothing but a file.
quick=(health --device sim:h200-4 --no-measurements)
echo precious > notes
refuses 'notes exists' "${quick[@]}" --prometheus notes
[[ $(cat notes) == precious ]] || fail "--prometheus replaced a file: $(cat notes)"
mkdir metrics.d
refuses 'Is a directory' "${quick[@]}" --prometheus metrics.d
one_line 0 "${quick[@]}" --prometheus again.prom
one_line 0 "${quick[@]}" --prometheus again.prom
mkfifo pipe
cat pipe > piped & one_line 0 "${quick[@]}" --prometheus pipe
wait
[[ -p pipe && $(head -c 24 piped) == '# HELP duet_health_ok 1 ' ]] || fail "--prometheus PIPE: $(stat -c %F pipe)"
if mknod null c 1 3 2> /dev/null && { : > null; } 2> /dev/null; then
  one_line 0 "${quick[@]}" --prometheus null
  [[ -c null ]] || fail "--prometheus replaced a device by a $(stat -c %F null)"
else
  echo "not checked with a device, which takes root and a file system with devices"
fi
expect_code 0 "${quick[@]}" --prometheus -
grep -qx 'duet_health_ok 1' out && grep -q '^duet health: OK' err || fail "--prometheus -: $(cat out err)"
grep -q '^duet health' out && fail "--prometheus - has the line between: $(cat out)"
expect_code 0 health --device sim:h200-4 --json -
[[ $(grep -vc '^{"type":' out) == 0 ]] || fail "--json - has the line between: $(grep -v '^{"type":' out)"
refuses 'expected one of them on standard output' health --json - --prometheus -
refuses 'both name ./one' health --json one --prometheus ./one
# The node's fault is said even where the metrics cannot be written in the end.
ln -s /dev/full full.prom
one_line 1 health --device cuda:63 --prometheus full.prom
grep -q 'No space left' err || fail "a full disk: $(cat err)"
expect_code 2 "${quick[@]}" --prometheus full.prom
grep -q '^duet health: OK' out || fail "a full disk and no fault: $(cat out)"

# Slurm's HealthCheckProgram, with a scontrol that notes what it is asked.
mkdir bin
printf '#!/bin/bash\necho "$*" >> "%s/asked"\n' "$PWD" > bin/scontrol
chmod +x bin/scontrol
program=$(realpath "$specs/../deploy/slurm/health.sh")
# drains WORDS...: as DUET_HEALTH; true if it drained the node.
drains() {
  rm -f asked
  code=0
  PATH=$PWD/bin:$PATH DUET=${faked:-$duet} DUET_HEALTH="$*" DUET_HEALTH_FILE=none SLURMD_NODENAME=n1 \
    "$program" > out 2> err || code=$?
  grep -q 'State=DRAIN' asked 2> /dev/null
}
drains --no-measurements --device cuda:63 || fail "a fault does not drain: $(cat err)"
grep -q '^update NodeName=n1 State=DRAIN Reason=duet health: FAIL ' asked || fail "asked: $(cat asked)"
# not_drained CODE WORDS...
not_drained() {
  ! drains "${@:2}" || fail "'${*:2}' drains: $(cat asked)"
  [[ $code == "$1" ]] || fail "health.sh with '${*:2}': exit $code, expected $1"
  [[ $1 == 0 || -s err ]] || fail "health.sh with '${*:2}' says nothing"
}
not_drained 0 --no-measurements --device sim:h200-4
not_drained 2 --no-measurement
not_drained 2 --no-measurements --device cdua
not_drained 2 --no-measurements --prometheus /nonexistent/x.prom
not_drained 2 --no-measurements --device sim:h200-4 --prometheus full.prom
faked=$PWD/not/installed not_drained 127 --no-measurements
printf '#!/bin/bash\necho "duet: out of memory" >&2; exit 1\n' > bin/duet
chmod +x bin/duet
faked=$PWD/bin/duet not_drained 1 --no-measurements
finish
