#!/usr/bin/env bash
# Which packages the set-up asks for, on a machine that has none and may install none:
# packages.sh SOURCE.
set -euo pipefail
source=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# tool NAME EXIT [TEXT]: one that the script finds first.
tool() {
  printf '#!/bin/sh\n%s\nexit %s\n' "${3:+echo $3}" "$2" > "$folder/$1"
  chmod +x "$folder/$1"
}
tool dpkg-query 1
tool sudo 1
tool id 0 1000
tool apt-get 99

# names EXPECTED PACKAGE ARGUMENT...: whether the package is among those that are to be installed.
names() {
  local expected=$1 package=$2 found=no
  shift 2
  PATH="$folder:$PATH" "$source/scripts/packages.sh" "$@" > "$folder/out" 2>&1 && code=0 || code=$?
  grep -qE "apt-get install.* $package( |$)" "$folder/out" && found=yes
  [[ $found == "$expected" && $code == 1 ]] && return
  echo "FAIL: packages.sh $*: $package: $found, expected $expected; exit $code" >&2
  cat "$folder/out" >&2
  failures=$((failures + 1))
}

for package in g\\+\\+ libfabric-dev libopenmpi-dev openmpi-bin; do
  names yes $package
  names yes $package tests
done
for package in libfabric-bin nftables iproute2 slurm-wlm munge chromium-headless-shell; do
  names no $package
  names yes $package tests
  names yes $package checks
done
names no hipcc tests
names yes hipcc checks

# All there: nothing to do, nobody asked.
tool dpkg-query 0 installed
tool node 0
tool npm 0
for arguments in "" tests checks; do
  PATH="$folder:$PATH" "$source/scripts/packages.sh" $arguments || { echo "FAIL: '$arguments'" >&2; failures=1; }
done

cd "$source"
unset MAKEFLAGS MAKELEVEL
for goal in run test; do
  make -n $goal > "$folder/out"
  expected="scripts/packages.sh"
  [[ $goal == run ]] || expected+=" tests"
  grep -qx "$expected" "$folder/out" || { echo "FAIL: make $goal: no '$expected'" >&2; failures=1; }
done
exit $((failures > 0))
