#!/usr/bin/env bash
# How near `auto` comes to the better of `dma` and `kernel`: runs the three beside each other, size by
# size, in several rounds, and compares the fastest medians of each.
#   bench/auto_against_best.sh DUET DEVICE [OUT]     journals of the rounds into the folder OUT
# COLLECTIVES and OPTIONS (sizes, mode) choose what runs, ROUNDS how often; no further round begins
# that would likely end after LIMIT seconds. Exit 1 where a ratio is under LEAST.
set -euo pipefail
duet=$(realpath "$1")
device=$2
out=${3:-$(mktemp -d)}
collectives=${COLLECTIVES:-all_gather,all_to_all,reduce_scatter,all_reduce,broadcast,gather,scatter,send_recv}
small="-b 64K -e 32M -f 2 --loop -n 20 -w 5"
large="-b 64M -e 4G -f 2 --loop -n 4 -w 1"
mkdir -p "$out"

# measure NAME OPTION...
measure() {
  local name=$out/$1
  shift
  "$duet" collective "$collectives" --device "$device" --engine auto,dma,kernel -d bfloat16 \
    --in-place out -c 0 "$@" --quiet --json "$name.jsonl" --csv "$name.csv"
}

for ((round = 1; round <= ${ROUNDS:-3}; ++round)); do
  ((round == 1 || SECONDS * round / (round - 1) <= ${LIMIT:-220})) || break
  # shellcheck disable=SC2086  # several options
  if [[ -n ${OPTIONS:-} ]]; then
    measure "round-$round" $OPTIONS
  else
    measure "round-$round-small" $small
    measure "round-$round-large" $large
  fi
done

awk -F, -v least="${LEAST:-0.98}" '
  FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  $at["benchmark"] != "collective" { next }
  {
    call = sprintf("%-14s %12s %s", $at["collective"], $at["bytes"],
                   $at["in_place"] == "true" ? "in place" : "")
    if (!(call in seen)) { seen[call] = 1; calls[++count] = call }
    if ($at["outcome"] != "measured") next
    seconds = $at["median_seconds"] + 0
    key = call SUBSEP $at["engine"]
    if (!(key in best) || seconds < best[key]) best[key] = seconds
  }
  END {
    printf "%-14s %12s %10s %10s %10s %s\n", "collective", "bytes", "auto us", "dma us", "kernel us", "best / auto"
    worst = 2
    for (i = 1; i <= count; ++i) {
      call = calls[i]; fastest = 0
      for (e = split("auto dma kernel", engines, " "); e >= 1; --e) {
        key = call SUBSEP engines[e]
        us[engines[e]] = key in best ? sprintf("%.2f", best[key] * 1e6) : "-"
        if (engines[e] != "auto" && key in best && (fastest == 0 || best[key] < fastest)) fastest = best[key]
      }
      if (fastest == 0) continue
      ratio = (call SUBSEP "auto") in best ? fastest / best[call SUBSEP "auto"] : 0
      ++compared
      if (ratio < worst) worst = ratio
      if (ratio < least) ++under
      printf "%s %10s %10s %10s %.3f%s\n", call, us["auto"], us["dma"], us["kernel"], ratio, ratio < least ? "  UNDER" : ""
    }
    printf "%d of %d under %s, the least %.3f\n", under, compared, least, worst
    exit under > 0 || compared == 0
  }' "$out"/round-*.csv
