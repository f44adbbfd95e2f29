#!/usr/bin/env bash
# Two builds of Duet in turns on the same GPUs, and how the second one's figures compare with the
# first one's:
#   bench/two_revisions.sh OLD NEW OUT    build folders; journals and the comparison into OUT
# MODES: stream, graph (collectives), shm, staged (two nodes over shm, one process a GPU), overlap,
#        halo, halo-graph, halo-shm; by default stream and graph.
# TURNS: of each build (3). SIZES, ENGINES, KINDS: flags of duet collective, for fewer cases.
# OVERLAP: a set of scenarios and flags of duet overlap. HALO: flags of duet halo.
set -uo pipefail
old=${1:?usage: two_revisions.sh OLD NEW OUT} new=${2:?a second build folder} out=${3:?a folder for journals}
. "$(dirname "$0")/on_gpu/common.sh"
find_nccl
kinds=${KINDS:-all_gather,all_to_all,reduce_scatter,all_reduce,broadcast}
# shellcheck disable=SC2206
sizes=(${SIZES:--b 4K -e 2G -f 8}) overlap=(${OVERLAP:-training --policy serial,dma})
# shellcheck disable=SC2206
halo=(${HALO:---nx 2048,8192,16384 --norm none,delayed})
failed=0 port=29600

# measure NAME BUILD JOURNAL: one run of a mode
measure() {
  local duet=$2/duet
  local collective=(collective "$kinds" --device cuda --engine "${ENGINES:-auto,dma,kernel}" -d bfloat16
    "${sizes[@]}" --seconds 0.05 --quiet --json "$3")
  local exchange=(halo --device cuda "${halo[@]}" --seconds 0.05 --quiet --json "$3")
  case $1 in
    stream) "$duet" "${collective[@]}" ;;
    graph) "$duet" "${collective[@]}" -G 10 ;;
    shm) PORT=$((++port)) one_process_a_gpu "${collective[@]}" --node-size 1 --provider shm ;;
    staged) PORT=$((++port)) one_process_a_gpu "${collective[@]}" --node-size 1 --provider shm --staged ;;
    overlap) "$duet" overlap "${overlap[@]}" --device cuda --quiet --json "$3" ;;
    halo) "$duet" "${exchange[@]}" --engine "${ENGINES:-dma,kernel,nccl,nccl-window}" ;;
    halo-graph) "$duet" "${exchange[@]}" --engine "${ENGINES:-dma,kernel,nccl,nccl-window}" --graph ;;
    halo-shm) PORT=$((++port)) one_process_a_gpu "${exchange[@]}" --engine dma,kernel --node-size 1 --provider shm ;;
    *) echo "expected one of the MODES above: $1" >&2 && exit 2 ;;
  esac || failed=1
}

for mode in ${MODES:-stream graph}; do
  olds=() news=()
  for ((turn = 1; turn <= ${TURNS:-3}; ++turn)); do
    olds+=("$out/old-$mode-$turn.jsonl") news+=("$out/new-$mode-$turn.jsonl")
    if ((turn % 2)); then
      measure "$mode" "$old" "${olds[-1]}"
      measure "$mode" "$new" "${news[-1]}"
    else
      measure "$mode" "$new" "${news[-1]}"
      measure "$mode" "$old" "${olds[-1]}"
    fi
  done
  echo "== $mode (${SECONDS}s)"
  "$new/duet" compare "${olds[@]}" : "${news[@]}" --csv "$out/$mode.csv" | tail -n 60
done
exit $failed
