#!/usr/bin/env bash
# Duet's messages beside the plainest ones, in turns: fabric_overhead.sh DUET FABRIC_LOOP [TURNS].
# Prints the medians over the turns, their ratio, and that of the fastest turns, which other load
# disturbs least: above 1 where Duet is faster. Writes are held against bench/fabric_loop.cc, messages
# there and back against fi_pingpong.
set -euo pipefail
duet=$(realpath "$1")
loop=$(realpath "$2")
turns=${3:-7}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
rounds=60

# median FILE: of a number a line.
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ours ARGUMENT...: median seconds of the only case.
ours() {
  rm -f table.csv
  "$duet" fabric "$@" --chunk 0 --warm-up 0 --seconds 20 --iterations $rounds --csv table.csv --quiet
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "median_seconds") at = i }
           NR == 2 { print $at }' table.csv
}

# pingpong PROVIDER BYTES: seconds there and back.
pingpong() {
  local port=$((20000 + RANDOM % 10000))
  fi_pingpong -p "$1" -e rdm -S "$2" -I 3000 -B $port > /dev/null 2>&1 &
  sleep 0.3
  fi_pingpong -p "$1" -e rdm -S "$2" -I 3000 -P $port 127.0.0.1 2> /dev/null |
    awk 'NR == 2 { print 2e-6 * $(NF - 1) }'
  wait
}

fastest() { sort -g "$1" | head -n 1; }

say() {  # WHAT
  awk -v a="$(median theirs)" -v b="$(median mine)" -v c="$(fastest theirs)" -v d="$(fastest mine)" \
    -v what="$1" 'BEGIN {
      printf "%-38s %9.2f us  duet %9.2f us  %.3f  fastest %.3f\n", what, a * 1e6, b * 1e6, a / b, c / d
    }'
}

for provider in shm "tcp;ofi_rxm"; do
  for case in "65536 1 256" "65536 16 256" "1048576 16 32"; do
    read -r bytes window messages <<< "$case"
    rm -f mine theirs
    for ((turn = 0; turn < turns; ++turn)); do
      "$loop" "$provider" "$bytes" "$window" "$messages" $rounds >> theirs
      ours write --provider "$provider" --sizes "$bytes" --window "$window" \
        --messages "$messages" >> mine
    done
    say "write $provider $bytes window $window"
  done
  for bytes in 64 4096 65536; do
    rm -f mine theirs
    for ((turn = 0; turn < turns; ++turn)); do
      pingpong "$provider" "$bytes" >> theirs
      ours send_recv --provider "$provider" --sizes "$bytes" --window 1 \
        --messages 64 >> mine
    done
    say "send_recv $provider $bytes"
  done
done
