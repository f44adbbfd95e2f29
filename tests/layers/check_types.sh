#!/usr/bin/env bash
# A type has one definition in its namespace, over the whole library: two of one name make one
# program of two meanings, and neither the compiler nor the linker says so.
set -euo pipefail
cd "${1:?usage: check_types.sh REPOSITORY}"

awk '
  FNR == 1 { space = ""; hidden = 0 }
  /^namespace [a-z_:]+ \{/ { space = $2; next }
  /^namespace \{/ { hidden = 1; next }
  /^\}  \/\/ namespace$/ { hidden = 0; next }
  !hidden && /^(class|struct|union|enum( class)?) [A-Za-z0-9_:]+/ && !/;$/ {
    name = $0; sub(/^(class|struct|union|enum( class)?) /, "", name); sub(/ .*/, "", name)
    name = space "::" name
    ++seen
    if (name in where) { print name " is defined in " where[name] " and in " FILENAME; bad = 1 }
    where[name] = FILENAME
  }
  END {
    if (seen < 200) { print "only " seen + 0 " types found: is the tree not there?"; bad = 1 }
    exit bad
  }
' $(find src -name '*.h' -o -name '*.cc' -o -name '*.cu' | grep -v '_test\.cc$' | sort)
