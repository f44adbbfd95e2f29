#!/usr/bin/env bash
# What the two libraries need of a system, and which names they give it:
# needs.sh SHIM GLIBC, GLIBC being the newest version that they may need.
set -euo pipefail
shim=${1:?usage: needs.sh SHIM GLIBC} newest=${2:?}
fail() { echo "$*" >&2 && exit 1; }
exported() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }

for library in "$shim/libduet-nccl.so" "$shim/replacement/libnccl.so.2"; do
  needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' |
    grep -vE '^(ld-linux-x86-64\.so\.2|libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1)$' || true)
  [[ -z $needed ]] || fail "$library: expected to need the C library alone, needs: $needed"
  readelf -d "$library" | grep -q 'FLAGS_1.*NODELETE' || fail "$library: its threads outlive dlclose"
  ! readelf -d "$library" | grep -qE 'RPATH|RUNPATH' || fail "$library has a search path"
  "$(dirname "$0")/../build/glibc.sh" "$newest" "$library"
  others=$(exported "$library" | grep -vE '^p?nccl' || true)
  [[ -z $others ]] || fail "$library: expected names of NCCL alone, has: $others"
done

[[ $(basename "$shim/replacement/libnccl.so.2") == "$(readelf -d "$shim/replacement/libnccl.so.2" |
  sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')" ]] || fail "the replacement's soname is not libnccl.so.2"

echo "the C library alone, glibc $newest at most, $(exported "$shim/replacement/libnccl.so.2" | wc -l) names"
