#!/usr/bin/env bash
# What collectives over two nodes keep of their rails: nodes_share.sh PROGRAM [JOURNAL [RUNS]]. Two nodes
# of one and of two host ranks, four rails of 500 Mbit/s and of 1 Gbit/s, 64 MiB and 256 MiB: prints
# the median of RUNS runs (3) of each case as a share of its bound, bounds nothing. JOURNAL gets the
# records of all runs.
source "$(dirname "$0")/check.sh"
journal=
[[ -z ${2:-} ]] || journal=$(cd "$OLDPWD" && realpath -m "$2")
runs=${3:-3}
open_rails 1gbit
source "$here/two_nodes.sh"

kinds=(all_gather all_to_all reduce_scatter all_reduce)
# Percent of a rail's bits that can be messages' bytes: four rails of 1 Gbit/s carry 0.493 GB/s.
payload=98.6

median() { sort -n | awk '{ all[NR] = $1 } END { printf "%.3f", all[int((NR + 1) / 2)] }'; }

# run RATE GBIT RANKS BYTES: appends each collective's share to a file of its name.
run() {
  local row percent
  rm -f journal.jsonl
  collective "$3" "$(IFS=,; echo "${kinds[*]}")" --engine dma -b "$4" -e "$4" --in-place out \
    --iterations 9 --link-gbit "$2" --json journal.jsonl
  all_ended_with 0 "$3 ranks a node, rails of $1, $4"
  [[ -z $journal ]] || cat journal.jsonl >> "$journal"
  for row in 1 2 3 4; do
    percent=$(column table.csv percent_of_rails "$row")
    awk "BEGIN { print ${percent:-0} / $payload }" >> "share.${kinds[row - 1]}"
  done
}

printf '%-9s %-6s %-8s' rails ranks bytes
printf ' %-14s' "${kinds[@]}"
echo
for rate in "500mbit 0.5" "1gbit 1"; do
  shape_rails "${rate% *}"
  for ranks in 1 2; do
    for bytes in 64M 256M; do
      rm -f share.*
      for ((i = 0; i < runs; ++i)); do run "${rate% *}" "${rate#* }" "$ranks" "$bytes"; done
      printf '%-9s %-6s %-8s' "${rate% *}" "$ranks" "$bytes"
      for kind in "${kinds[@]}"; do printf ' %-14s' "$(median < "share.$kind")"; done
      echo
    done
  done
done
finish
