#!/usr/bin/env bash
# Copies from a build folder what bench/on_gpu.sh runs, stripped, for a machine that has GPUs but not
# what Duet is built with.
#   bench/pack.sh BUILD TO    there: BUILD=TO bench/on_gpu.sh check
set -euo pipefail
if [[ $# != 2 || ! -x $1/duet ]]; then
  echo "pack.sh: expected a build folder with the program duet, and a folder to copy into" >&2
  exit 2
fi
here=$(dirname "$0")
mapfile -t programs < <(grep -ohE '\$build/(tests|bench)/[a-z_]+' "$here"/on_gpu/*.sh | sed 's|^\$build/||' | sort -u)
missing=()
for program in "${programs[@]}"; do
  [[ -x $1/$program ]] || missing+=("$program")
done
if [[ ${#missing[@]} -gt 0 ]]; then
  echo "pack.sh: expected in $1, which must be built with CUDA: ${missing[*]}" >&2
  exit 2
fi
mkdir -p "$2"
to=$(realpath "$2")
cd "$1"
cp -a --parents duet libduet.so* modules/*.so nccl_shim/libduet-nccl.so "${programs[@]}" "$to"
find "$to" -type f -exec strip --strip-unneeded {} +
du -sh "$to"
