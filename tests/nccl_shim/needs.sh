#!/usr/bin/env bash
# What the two libraries need of a system, and which names they give it:
# needs.sh SHIM TESTS [LIBNCCL], LIBNCCL being an installed NCCL.
set -euo pipefail
shim=${1:?usage: needs.sh SHIM TESTS [LIBNCCL]} real=${3:-}
newest=2.36 # Debian 12's compiler and static libstdc++ ask for no less
fail() { echo "$*" >&2 && exit 1; }
exported() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }

for library in "$shim/libduet-nccl.so" "$shim/replacement/libnccl.so.2"; do
  needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | grep -v '^ld-linux' || true)
  [[ $needed == libc.so.6 ]] || fail "$library: expected to need libc.so.6 alone, needs: $needed"
  ! readelf -d "$library" | grep -qE 'RPATH|RUNPATH' || fail "$library has a search path"
  version=$(objdump -T "$library" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -Vu | tail -1)
  [[ $(printf '%s\n' "$version" "$newest" | sort -V | tail -1) == "$newest" ]] ||
    fail "$library: needs glibc $version, expected at most $newest"
  others=$(exported "$library" | grep -vE '^p?nccl' || true)
  [[ -z $others ]] || fail "$library: expected names of NCCL alone, has: $others"
done

[[ $(basename "$shim/replacement/libnccl.so.2") == "$(readelf -d "$shim/replacement/libnccl.so.2" |
  sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')" ]] || fail "the replacement's soname is not libnccl.so.2"

if [[ -n $real ]]; then # ncclResetDebugInitInternal is in no header
  missing=$(comm -23 <(exported "$real" | grep -E '^p?nccl' | grep -vx ncclResetDebugInitInternal) \
    <(exported "$shim/replacement/libnccl.so.2"))
  [[ -z $missing ]] || fail "the replacement lacks: $missing"
fi
echo "libc alone, glibc $version, $(exported "$shim/replacement/libnccl.so.2" | wc -l) names"
