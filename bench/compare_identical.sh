#!/usr/bin/env bash
# How often `duet compare` calls one of two identical runs worse: runs the same cases again and
# again and holds the runs against each other, one a side and several a side, taken in turns.
#
#   bench/compare_identical.sh DUET OUT [RUNS] [SIDE]
#
# OUT is a new folder for the journals; RUNS (40) how many runs, two of which make a pair; SIDE (4)
# how many a side of the comparisons of several. SUITE=quick measures all of `duet run quick`
# instead of a few host GEMMs, copies and collectives.
set -euo pipefail
duet=$(realpath "$1")
out=$2
runs=${3:-40}
side=${4:-4}
mkdir "$out"
cd "$out"

measure() {
  local journal=$1
  if [[ ${SUITE:-few} == quick ]]; then
    "$duet" run quick --quiet --json "$journal"
    return
  fi
  "$duet" gemm --device host --shapes 512x512x512,1024x1024x1024 --dtype fp32 --seconds 0.2 \
    --quiet --json part.gemm.jsonl
  "$duet" copy --device host --kind local --sizes 64K,4M,64M --seconds 0.2 \
    --quiet --json part.copy.jsonl
  "$duet" collective all_reduce,all_gather --device host:2 --engine kernel,dma -b 64K -e 4M -f 64 \
    --seconds 0.2 --quiet --json part.collective.jsonl
  cat part.*.jsonl > "$journal"
  rm part.*.jsonl
}

for ((i = 1; i <= runs; i++)); do
  begin=$SECONDS
  measure "$i.jsonl"
  echo "run $i: $((SECONDS - begin)) s, load $(cut -d' ' -f1-3 /proc/loadavg)" >> runs.txt
done

false=0 compared=0
hold() {
  compared=$((compared + 1))
  "$duet" compare "$@" --fail-on-regression 5% > "compare.$compared.txt" 2>&1 && return
  false=$((false + 1))
  grep 'duet: .* on ' "compare.$compared.txt" || cat "compare.$compared.txt"
}

for ((i = 1; i + 1 <= runs; i += 2)); do hold "$i.jsonl" "$((i + 1)).jsonl"; done
echo "one run a side: $false of $compared comparisons of identical runs fail"

false=0 before=$compared
for ((i = 1; i + 2 * side - 1 <= runs; i += 2 * side)); do
  base=() new=()
  for ((j = i; j < i + 2 * side; j += 2)); do
    base+=("$j.jsonl")
    new+=("$((j + 1)).jsonl")
  done
  hold "${base[@]}" : "${new[@]}"
done
echo "$side runs a side: $false of $((compared - before)) comparisons of identical runs fail"
