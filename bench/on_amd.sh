#!/usr/bin/env bash
# The first run on a machine with AMD GPUs: checks Duet, measures it, and packs what to send back.
#   bench/on_amd.sh OUT
# A step that fails does not keep the next ones from running. OUT gets each step's output and
# journals; OUT.tar.gz has all of it. In the environment:
#   BUILD      build folder (build)
#   STEPS      of: info conformance copy gemm collectives overlap (all, in this order)
#   MOST       largest size of copies and collectives (1G)
#   SHAPES     flags that choose GEMM's shapes (--set seed)
#   OPTIONS    further flags of every measurement
#   LIMIT      most seconds of a step (1800)
set -uo pipefail
out=${1:?usage: bench/on_amd.sh OUT}
out=$(realpath -m "$out")
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
duet=$build/duet
most=${MOST:-1G}
read -ra options <<< "${OPTIONS:-}"
read -ra shapes <<< "${SHAPES:---set seed}"
failed=()
mkdir -p "$out" || exit 1

info() {
  "$duet" info --device hip
  "$duet" health --device hip --no-measurements --verbose
  for tool in rocminfo "rocm-smi --showtopo" "amd-smi topology" "amd-smi metric"; do
    echo "== $tool"
    command -v "${tool%% *}" > /dev/null && $tool
  done
  "$duet" info --device hip > /dev/null  # the step fails where this does, whatever the tools do
}

# `make run` does not build it.
conformance() {
  [[ -x $build/tests/conformance_test ]] || cmake --build "$build" --target conformance_test || return 1
  "$build/tests/conformance_test" --gtest_filter='*/hip'
}

# Who moved the bytes is the journal's field `executor`: dma is a copy of the runtime's, without SDMA
# one of its kernels; sdma is one by the engine that the note `sdma_engines` names.
copy() {
  local status=0
  "$duet" copy --device hip --sizes "64K..$most" "${options[@]}" --json "$out/copy.jsonl" || status=1
  HSA_ENABLE_SDMA=0 "$duet" copy --device hip --kind peer --executor dma --sizes "64K..$most" \
    "${options[@]}" --json "$out/blit.jsonl" || status=1
  "$duet" copy --device hip --executor sdma --host-memory pinned --sizes "64K..$most" \
    "${options[@]}" --json "$out/sdma.jsonl" || status=1
  return $status
}

gemm() {
  "$duet" gemm --device hip "${shapes[@]}" --dtype bf16,fp16,fp8 "${options[@]}" --json "$out/gemm.jsonl"
}

collectives() {
  "$duet" collective all_gather,all_to_all,all_reduce,reduce_scatter --device hip -b 64K -e "$most" \
    "${options[@]}" --json "$out/collectives.jsonl"
}

overlap() {
  "$duet" overlap --device hip --policy base,priority,partition,dma,dma+partition --units 32 \
    "${options[@]}" --json "$out/overlap.jsonl"
}

# One step, for the loop below, which gives it a limit of time.
[[ $# -lt 2 ]] || { "$2"; exit; }

steps=${STEPS:-info conformance copy gemm collectives overlap}
for step in $steps; do
  case $step in
    info | conformance | copy | gemm | collectives | overlap) ;;
    *) echo "on_amd.sh: expected info, conformance, copy, gemm, collectives or overlap, not '$step'" >&2; exit 2 ;;
  esac
done
for step in $steps; do
  echo "== $step (${SECONDS}s)"
  timeout "${LIMIT:-1800}" bench/on_amd.sh "$out" "$step" > "$out/$step.txt" 2>&1 || failed+=("$step")
  tail -n 3 "$out/$step.txt"
done
printf '%s\n' "${failed[@]:-none}" > "$out/failed.txt"
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")" || exit 1
echo "Send back $out.tar.gz"
[[ ${#failed[@]} == 0 ]] || { echo "failed: ${failed[*]}"; exit 1; }
