#!/usr/bin/env bash
# On simulated machines of 2, 4 and 8 devices auto is as fast as the better of dma and kernel, at
# every size: at least 0.98 of it.
root=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/check.sh"

# near PLATFORM DEVICES
near() {
  ROUNDS=1 OPTIONS="-b 64K -e 4G -f 4 --loop -n 1 -w 0" \
    "$root/bench/auto_against_best.sh" "$duet" "sim:$1:devices=$2" "$folder/$1-$2" > "$1-$2.txt" ||
    fail "$2 x $1: $(grep -e UNDER -e under "$1-$2.txt")"
  [[ $(grep -c ' [01]\.[0-9]*$' "$1-$2.txt") -ge 72 ]] || fail "$2 x $1: $(cat "$1-$2.txt")"
}

near h200 2
near h200 4
near h200 8
near mi300x 2
near mi300x 4
near mi300x 8
near mi350x 8
finish
