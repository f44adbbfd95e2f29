#!/usr/bin/env bash
# The ranges of --nvtx, by a tool that prints them: profiler_ranges.sh DUET TESTS.
set -euo pipefail
duet=$(realpath "$1")
tool=$(realpath "$2")/libnvtx_tool.so
if [[ ! -e $tool ]]; then
  echo "skipped: needs CUDA's toolkit, which has NVTX"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0

fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}
# ranges ARGUMENT...: runs duet with the tool; its ranges are in the file `said`.
ranges() {
  NVTX_INJECTION64_PATH=$tool "$duet" "$@" --quiet 2> said || fail "$*: $(cat said)"
}
# has TEXT: a range whose text begins so has begun.
has() {
  grep -q -- "^Duet: $1" said || fail "expected a range '$1': $(sort said | uniq -c)"
}

short=(--iterations 2)
ranges overlap --nvtx --device host:2 --compute gemm:64x64x64:fp32 --communicate all_gather:64K \
  --policy dma "${short[@]}"
has 'overlap on host:2, '
has 'gemm'
has 'collective'
has 'all_gather 64 KiB'
[[ $(grep -c '^Duet: end' said) == $(grep -c '^Duet: [^e]' said) ]] || fail "ranges that do not end: $(cat said)"

ranges collective all_reduce --nvtx --device host:4 --engine dma -b 64K --in-place out --groups 2x2 "${short[@]}"
has 'collective_groups on host:4, dma'
has 'all_reduce 64 KiB'

ranges train gpt --nvtx --device host --model tiny --batch 1 --sequence 16 --layers 1 "${short[@]}"
has 'train'
has 'linear'

ranges gemm --device host --shapes 32x32x32 --dtype fp32 "${short[@]}"
[[ ! -s said ]] || fail "ranges without --nvtx: $(cat said)"
unset NVTX_INJECTION64_PATH
"$duet" gemm --nvtx --device host --shapes 32x32x32 --dtype fp32 "${short[@]}" > out 2> said
grep -q 'no tool takes the ranges' said || fail "no warning without a tool: $(cat said)"
exit $((failures > 0))
