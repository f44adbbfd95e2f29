#!/usr/bin/env bash
# Holds every include of src/ against the table of layers in ARCHITECTURE.md: a file may include its
# own row's folder and the folders that the row names. The longest folder that fits a path decides.
# The row `src/WORKLOAD` is of folders without a row of their own, `src/*/command` of all that are
# called so, which may include everything. Of tests/fake_gpu only tests and their fixtures may include
# files.
set -euo pipefail
cd "${1:?usage: check_includes.sh REPOSITORY}"

awk '
  FILENAME == "ARCHITECTURE.md" {
    if ($0 !~ /^\| `src\//) next
    split($0, cells, "|")
    folder = cells[2]; gsub(/[` ]|src\//, "", folder); sub(/\/$/, "", folder)
    rows[folder] = 1
    count = split(cells[3], names, /[ ,]+/)
    for (i = 1; i <= count; ++i) {
      gsub(/`/, "", names[i])
      if (names[i] != "") allowed[folder, names[i]] = 1
    }
    next
  }
  function room(path, best, row) {
    best = ""
    if (path ~ /^[a-z_]+\/command\//) return "*/command"
    for (row in rows) {
      if (index(path, row "/") == 1 && length(row) > length(best)) best = row
    }
    return best == "" && path ~ /\// ? "WORKLOAD" : best
  }
  /^#include "/ {
    split($0, parts, "\"")
    from = FILENAME; sub(/^src\//, "", from)
    ++seen
    if (parts[2] ~ /^fake_gpu\//) {
      if (FILENAME ~ /_(test\.cc|fixture\.(h|cc))$/) next
      print FILENAME ": only tests may include " parts[2]; bad = 1; next
    }
    own = room(from); target = room(parts[2])
    if (own == "*/command") next
    if (own == "") { print FILENAME ": its folder is not in the table of layers"; bad = 1; next }
    if (target == "" || target == own || (own, target) in allowed) next
    print FILENAME ": " own " may not include " parts[2]; bad = 1
  }
  END {
    if (seen < 50) { print "only " seen " includes found: is the table or the tree not there?"; bad = 1 }
    exit bad
  }
' ARCHITECTURE.md $(find src -name '*.h' -o -name '*.cc' -o -name '*.cu' | sort)
