#!/usr/bin/env bash
# No kernel for AMD depends on whether a wave has 64 threads or 32: each shuffle is among 32
# neighbours, and nothing votes, or asks for a wave's width or its active threads. wave_width.sh SOURCE
set -euo pipefail
cd "$1/src"

# finds LINE: whether a line of a kernel's source depends on the width. NVIDIA's names end in _sync.
finds() {
  grep -E '\b(warpSize|__(ballot|any|all|activemask|lane_id)\b|__builtin_amdgcn_(wave|mbcnt|read)\w*|__shfl\w*\()' |
    grep -vE '\b__\w+_sync\(|__shfl(_up|_down|_xor)?\([^()]*, 32\)'
}
for bad in 'x = __shfl_xor(x, 1);' 'x = __shfl(x, 0, 64);' 'if (__any(x)) return;' 'lane % warpSize'; do
  finds <<< "$bad" > /dev/null || { echo "FAIL: '$bad' is not found" >&2; exit 1; }
done
if find . \( -name '*.cu' -o -name '*.h' \) -not -path '*/cuda/*' -not -path '*/nvshmem/*' -not -path '*/sim/*' \
  -exec grep -Hn '' {} + | finds; then
  echo "FAIL: these lines depend on the width of a wave" >&2
  exit 1
fi
