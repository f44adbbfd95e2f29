#!/usr/bin/env bash
# Duet's messages beside the plainest ones, in turns: fabric_overhead.sh DUET FABRIC_LOOP [TURNS [ROWS]].
# ROWS is a pattern of the rows wanted, such as '^write shm'.
# Prints the medians over the turns, and that of the turns' ratios: above 1 where Duet is faster.
# Writes are held against bench/fabric_loop.cc, messages there and back against fi_pingpong, which has
# one buffer for all. Each turn's figure is a mean: fi_pingpong says no other, and times over tcp fall
# into two heaps, between which a median would leap. The peers' processes are bound to cores of their
# own, as Duet's are: whether they share one is luck, and no overhead. Rounds are long: what Duet does
# once a round, as its processes agree on the end, counts for more in shorter ones.
set -euo pipefail
duet=$(realpath "$1")
loop=$(realpath "$2")
turns=${3:-15}
rows=${4:-.}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# What this script may run on; the peers take the first two.
mapfile -t cores < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
  awk -F- '{ for (i = $1; i <= $NF; ++i) print i }')
((${#cores[@]} > 1)) || { echo "needs two cores, may use ${cores[*]}" >&2; exit 1; }

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ours ARGUMENT...: mean seconds of the only case.
ours() {
  rm -f table.csv
  timeout 60 "$duet" fabric "$@" --chunk 0 --warm-up 0 --seconds 20 --csv table.csv --quiet
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "mean_seconds") at = i }
           NR == 2 { print $at }' table.csv
}

# pingpong PROVIDER BYTES: seconds there and back.
pingpong() {
  local port=$((20000 + RANDOM % 10000)) end=(fi_pingpong -p "$1" -e rdm -S "$2" -I 3000)
  timeout 60 taskset -c "${cores[0]}" "${end[@]}" -B $port > /dev/null 2>&1 &
  sleep 0.3
  timeout 60 taskset -c "${cores[1]}" "${end[@]}" -P $port 127.0.0.1 2> /dev/null |
    awk 'NR == 2 { print 2e-6 * $(NF - 1) }'
  wait
}

# beside WHAT THEIRS OURS: two commands, in turns.
beside() {
  local turn
  [[ $1 =~ $rows ]] || return 0
  rm -f both
  for ((turn = 0; turn < turns; ++turn)); do echo "$($2) $($3)" >> both; done
  awk -v what="$1" -v theirs="$(awk '{ print $1 }' both | median)" \
    -v ours="$(awk '{ print $2 }' both | median)" \
    -v ratio="$(awk '{ print $1 / $2 }' both | median)" 'BEGIN {
      printf "%-38s %9.2f us  duet %9.2f us  %.3f\n", what, theirs * 1e6, ours * 1e6, ratio
    }'
}

for provider in shm "tcp;ofi_rxm"; do
  for case in "65536 1 1024" "65536 16 1024" "1048576 16 64"; do
    read -r bytes window messages <<< "$case"
    beside "write $provider $bytes window $window" \
      "$loop $provider $bytes $window $messages 20" \
      "ours write --provider $provider --sizes $bytes --window $window --messages $messages
       --iterations 20"
  done
  for bytes in 64 4096 65536; do
    beside "send_recv $provider $bytes" "pingpong $provider $bytes" \
      "ours send_recv --provider $provider --sizes $bytes --window 1 --messages 1000 --places 1
       --iterations 20"
  done
done
