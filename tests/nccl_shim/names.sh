#!/usr/bin/env bash
# No function of an installed NCCL goes past the drop-in: the replacement exports all that the library
# exports, and the preloaded library those that enqueue something on a stream.
#   names.sh SHIM LIBNCCL NCCL_H    exit code 77: skipped
set -euo pipefail
shim=${1:?usage: names.sh SHIM LIBNCCL NCCL_H} real=${2:?} header=${3:?}
for file in "$real" "$header"; do
  [[ -f $file ]] || { echo "skipped: it needs an installed NCCL with its header ($file)" && exit 77; }
done
fail() { echo "$*" >&2 && exit 1; }
exported() { nm -D --defined-only "$1" | awk '{print $3}' | grep -E '^p?nccl' | sort; }
# lacks NAMES LIBRARY: the NAMES that LIBRARY does not export.
lacks() { comm -23 <(echo "$1") <(exported "$2"); }

functions=$(exported "$real" | grep -vx ncclResetDebugInitInternal) # which is in no header
missing=$(lacks "$functions" "$shim/replacement/libnccl.so.2")
[[ -z $missing ]] || fail "the replacement lacks: $missing"

# Declarations end with a semicolon; those with a stream are of calls.
calls=$(tr '\n' ' ' <"$header" | grep -oE '\bnccl[A-Za-z]+ *\([^();]*cudaStream_t[^();]*\) *;' |
  sed -E 's/ *\(.*//' | sort -u)
[[ $(wc -l <<<"$calls") -ge 10 ]] || fail "expected NCCL's calls in $header, found: $calls"
missing=$(lacks "$calls" "$shim/libduet-nccl.so")
[[ -z $missing ]] || fail "the preloaded library lacks: $missing"
echo "$(wc -l <<<"$functions") names of $real, $(wc -l <<<"$calls") calls"
