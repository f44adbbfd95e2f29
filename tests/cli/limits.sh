#!/usr/bin/env bash
# Little memory and few threads: every run ends, in time and in words.
source "$(dirname "$0")/check.sh"
exec 2>&1
# On two cores: OpenMP's library ends a process for which it cannot start a thread on each.
taskset -pc "$(taskset -pc $$ | grep -oE '[0-9]+' | tail -n +2 | sort -n | head -n 2 | paste -sd,)" $$ > /dev/null

# ends KIB ARGUMENT...: with so much address space, duet ends by itself: 0, or 1 with one line that
# says what was too little.
ends() {
  local kib=$1
  shift
  code=0
  (ulimit -v "$kib" && exec timeout -s KILL 60 "$duet" "$@" > out 2> err) || code=$?
  [[ $code == 0 || $code == 1 ]] || fail "ulimit -v $kib, duet $*: exit $code: $(tail -3 err)"
  if grep -qE 'terminate called|std::bad_alloc|Segmentation|Aborted' err; then
    fail "ulimit -v $kib, duet $*: $(tail -3 err)"
  fi
}

# Threads that do not start are named, with their number and the limit.
ends 300000 copy --device host:64 --kind local --executor dma --sizes 64K
if [[ $code != 0 ]]; then
  grep -qE '^duet: cannot start thread [0-9]+ of [0-9]+ of host:[0-9]+: .*ulimit -v 300000' err ||
    fail "host:64: $(cat err)"
fi
ends 600000 collective all_gather --device sim:mi300x-8:nodes=128 --engine vendor-model -b 64M -e 64M \
  --in-place out
[[ $code == 1 ]] || fail "1024 ranks in 600 MB: exit $code"
grep -qE 'cannot start thread [0-9]+ of 1024, one a rank: .*ulimit -v 600000' out ||
  fail "1024 ranks: $(cat out err)"

# A library that nobody asked for is not opened; one that would wait for memory for ever neither.
small=(--shapes 64x64x64 --dtype fp32 --iterations 3)
ends 300000 gemm --device host --engine fma-peak "${small[@]}"
[[ $code == 0 ]] || fail "--engine fma-peak in 300 MB: $(cat err)"
ends 300000 gemm --device host --engine openblas "${small[@]}"
[[ $code == 1 ]] || fail "--engine openblas in 300 MB: exit $code: $(cat out)"
ends 300000 info
[[ $code == 0 ]] || fail "info in 300 MB: $(cat err)"

# From too little for the loader to enough.
for kib in 60000 90000 120000 160000 220000 300000 450000 700000; do
  ends "$kib" copy --device host:2 --sizes 4M --iterations 3
done
finish
