#!/usr/bin/env bash
# What files ask of the C library is not newer than a version, and of libstdc++ not newer than GCC 10
# where that is 2.31 or older: glibc.sh VERSION FILE...
set -euo pipefail
newest=${1:?usage: glibc.sh VERSION FILE...}
shift
# newest_of FILE PREFIX: the newest version with that prefix that it asks for.
newest_of() { objdump -T "$1" | grep -oE "\b$2_[0-9.]+" | sed "s/$2_//" | sort -Vu | tail -1; }
# not_newer VERSION LIMIT
not_newer() { [[ $(printf '%s\n' "$1" "$2" | sort -V | tail -1) == "$2" ]]; }
for file in "$@"; do
  [[ -e $file ]] || continue
  version=$(newest_of "$file" GLIBC || true)
  not_newer "$version" "$newest" || {
    echo "$file: needs glibc $version, expected at most $newest: $(objdump -T "$file" | grep -F "(GLIBC_$version)" | awk '{print $NF}' | tr '\n' ' ')" >&2
    exit 1
  }
  not_newer 2.32 "$newest" || not_newer "$(newest_of "$file" GLIBCXX || true)" 3.4.28 || {
    echo "$file: needs a newer libstdc++ than GCC 10's" >&2
    exit 1
  }
done
