#!/usr/bin/env bash
# Collectives by two builds of Duet, in turns on the same GPUs, and how the second one's figures
# compare with the first one's:
#   bench/two_revisions.sh OLD NEW OUT    build folders; journals and the comparison into OUT
# TURNS: of each build (3). SIZES, ENGINES, KINDS: flags of duet collective, for fewer cases.
set -uo pipefail
old=${1:?usage: two_revisions.sh OLD NEW OUT} new=${2:?a second build folder} out=${3:?a folder for journals}
export NCCL_NVLS_ENABLE=0
kinds=${KINDS:-all_gather,all_to_all,reduce_scatter,all_reduce,broadcast}
# shellcheck disable=SC2206
sizes=(${SIZES:--b 4K -e 2G -f 8})
failed=0

# measure BUILD NAME [FLAG...]
measure() {
  "$1/duet" collective "$kinds" --device cuda --engine "${ENGINES:-auto,dma,kernel}" -d bfloat16 "${sizes[@]}" \
    --seconds 0.05 --quiet --json "$out/$2.jsonl" "${@:3}" || failed=1
}

# mode NAME [FLAG...]: TURNS of both builds, the order changing from turn to turn
mode() {
  local names=() news=() turn
  for ((turn = 1; turn <= ${TURNS:-3}; ++turn)); do
    if ((turn % 2)); then
      measure "$old" "old-$1-$turn" "${@:2}"
      measure "$new" "new-$1-$turn" "${@:2}"
    else
      measure "$new" "new-$1-$turn" "${@:2}"
      measure "$old" "old-$1-$turn" "${@:2}"
    fi
    names+=("$out/old-$1-$turn.jsonl") news+=("$out/new-$1-$turn.jsonl")
  done
  echo "== $1"
  "$new/duet" compare "${names[@]}" : "${news[@]}" --csv "$out/$1.csv" | tail -n 60
}

mode stream
mode graph -G 10
exit $failed
