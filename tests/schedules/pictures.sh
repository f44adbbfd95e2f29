#!/usr/bin/env bash
# The pictures of the documentation are what the program prints: pictures.sh DUET REPOSITORY [--write]
# A picture is a block that begins with "$ duet collective ... --show-schedule ...". With --write the
# blocks are replaced.
set -euo pipefail
duet=${1:?usage: pictures.sh DUET REPOSITORY [--write]}
root=${2:?usage: pictures.sh DUET REPOSITORY [--write]}
found=0
for page in "$root"/docs/*.md; do
  grep -q '^\$ duet collective .*--show-schedule' "$page" || continue
  new=$(mktemp)
  inside=
  while IFS= read -r line; do
    if [[ $line == '$ duet collective '*--show-schedule* ]]; then
      echo "$line"
      read -ra words <<<"${line#'$ duet '}"
      "$duet" "${words[@]}"
      inside=1
    elif [[ $line == '```' ]]; then
      inside=
      echo "$line"
    elif [[ -z $inside ]]; then
      echo "$line"
    fi
  done <"$page" >"$new"
  found=$((found + $(grep -c '^\$ duet collective .*--show-schedule' "$page")))
  if [[ ${3:-} == --write ]]; then
    cat "$new" >"$page"
  else
    diff "$page" "$new" || { echo "$page: expected what the program prints: $0 DUET REPOSITORY --write"; exit 1; }
  fi
  rm "$new"
done
((found > 0)) || { echo "no pictures found: is the tree not there?"; exit 1; }
echo "$found pictures"
