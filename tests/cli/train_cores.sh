#!/usr/bin/env bash
# Training on a CPU gives the same bits for every number of cores, with each instruction set that the
# machine has, by each library: train_cores.sh DUET.
duet=$(realpath "$1")
source "$(dirname "$0")/../scratch.sh"

# Products smaller than a tile, and of many tiles.
# model NAME LAYERS HEADS WIDTH FFN_WIDTH BATCH SEQUENCE
model() {
  printf '[[model]]\nname = "%s"\nlayers = %d\nheads = %d\nwidth = %d\nffn_width = %d\nvocabulary = 300\nbatch = %d\nsequence = %d\n' \
    "$@" > "$1.toml"
}
model narrow 2 2 32 48 2 16
model wide 1 4 200 776 4 64
for i in $(seq 300); do echo "line $i of a text"; done > text

mapfile -t allowed < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
counts=(1 2)
((${#allowed[@]} > 2)) && counts+=(${#allowed[@]})
((${#allowed[@]} > 1)) || { echo "skipped: one core, expected at least 2"; exit 77; }
first_cores() { local IFS=,; echo "${allowed[*]:0:$1}"; }  # COUNT

# same_bits PROGRAM WHAT [VARIABLE=VALUE]: the parameters behind some steps, by each number of cores.
same_bits() {
  local program=$1 what=$2 model count
  shift 2
  for model in narrow wide; do
    for count in "${counts[@]}"; do
      rm -f "$count"
      env "$@" taskset -c "$(first_cores "$count")" "$program" train gpt --model $model.toml --data text \
        --steps 5 --checkpoint "$count" > out 2> err || { fail "$what, model $model, $count cores"; return; }
      cmp -s 1 "$count" || fail "$what, model $model: $count cores train another model than one"
    done
  done
}

has() { grep -qw "$1" /proc/cpuinfo; }
# What the machine lacks is not used: these are limits.
for set in SSE41 AVX AVX2 AVX512_CORE ALL; do
  same_bits "$duet" "oneDNN up to $set" ONEDNN_MAX_CPU_ISA=$set
done

# A program that finds no module but OpenBLAS's.
build=$(dirname "$duet")
mkdir -p alone/modules
cp "$duet" alone/
cp -P "$build"/libduet.so* alone/
cp "$build/modules/duet_openblas.so" alone/modules/
kernels=(Prescott)
has avx && kernels+=(Sandybridge)
has avx2 && kernels+=(Haswell Zen)
has avx512f && kernels+=(SkylakeX)
for kernel in "${kernels[@]}"; do
  same_bits "$folder/alone/duet" "OpenBLAS's kernels for $kernel" OPENBLAS_CORETYPE=$kernel
done
finish
