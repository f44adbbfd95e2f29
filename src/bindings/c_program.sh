#!/usr/bin/env bash
# Three processes in C find each other through a file, gather, sum, and normalise a sum.
#   c_program.sh PROGRAM
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for index in 1 2; do "$1" "$index" 3 "$folder" > "$folder/$index" & done
"$1" 0 3 "$folder" > "$folder/0"
wait
for index in 0 1 2; do
  said=$(<"$folder/$index")
  [[ "$said" == "process $index received 10 20 30, the sum is 60, normalised 1 -10" ]] || {
    echo "process $index said '$said': expected 10 20 30, their sum, and a row of norm 1" >&2
    exit 1
  }
done

status=0
"$1" 1 64 2> "$folder/error" || status=$?
[[ $status == 2 ]] && grep -q 'expected INDEX' "$folder/error"
