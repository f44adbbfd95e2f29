#!/usr/bin/env bash
# On simulated machines of 2, 4 and 8 devices auto is as fast as the better of dma and kernel, at
# every size: at least 0.98 of it.
root=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/check.sh"

# near NAME DEVICES: the platform NAME with so many devices.
near() {
  local file=$1-$2.toml
  sed "s/^devices = .*/devices = $2/" "$root/specs/platforms/$1.toml" > "$file"
  ROUNDS=1 OPTIONS="-b 64K -e 4G -f 4 --loop -n 1 -w 0" \
    "$root/bench/auto_against_best.sh" "$duet" "sim:$file" "$folder/$1-$2" > "$file.txt" ||
    fail "$2 x $1: $(grep -e UNDER -e under "$file.txt")"
  [[ $(grep -c ' [01]\.[0-9]*$' "$file.txt") -ge 72 ]] || fail "$2 x $1: $(cat "$file.txt")"
}

near h200-4 2
near h200-4 4
near h200-8 8
near mi300x-8 2
near mi300x-8 4
near mi300x-8 8
near mi350x-8 8
finish
