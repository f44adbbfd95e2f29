#!/usr/bin/env bash
# What goes through the list of workloads names none of them: no text in src/cli, run, results,
# verdict and report is the name of a workload or of its records, but for keys of TOML files and of
# `duet info --json`. workloads_unnamed.sh REPOSITORY
set -euo pipefail
cd "${1:?usage: workloads_unnamed.sh REPOSITORY}"

names=$(sed -n 's/^DUET_WORKLOAD(\(.*\))$/\1/p' src/workload/list.h | paste -sd'|')
[[ $names == *'|'* ]] || { echo "no workloads found in src/workload/list.h"; exit 1; }
found=$(find src/{cli,run,results,verdict,report} -maxdepth 2 \( -name '*.h' -o -name '*.cc' \) \
  -not -name '*_test.cc' -not -name '*_fixture.h' -print0 |
  xargs -0 grep -nE "^[^/]*\"($names)(_[a-z]+)*\"" |
  grep -vE '\.(text|table|tables)\("|^src/cli/info\.cc:[0-9]+: *out\["fabric"\]|"copy_engines"' || true)
[[ -z $found ]] || { printf '%s\nthese name workloads: a workload says it itself (src/workload/workload.h)\n' "$found"; exit 1; }
