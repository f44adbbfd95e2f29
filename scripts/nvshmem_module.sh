#!/usr/bin/env bash
# Adds the module duet_nvshmem.so to a build that was made where NVSHMEM is not.
#   scripts/nvshmem_module.sh BUILD [FOLDER]
# BUILD is a build folder of this source; FOLDER that of NVSHMEM, with include and lib (default: that
# of the Python package nvidia-nvshmem-cu13). Needs nvcc, libfmt's headers, and a GPU, whose code it
# generates (ARCH names another, such as sm_90). The host's library and the device's are of FOLDER,
# since those of two installations do not fit together.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-}
if [[ ! -e $build/libduet.so ]]; then
  echo "nvshmem_module.sh: expected a build folder with libduet.so, got '$build'" >&2
  exit 2
fi
folder=${2:-$(python3 -c 'import nvidia.nvshmem as n; print(list(n.__path__)[0])' 2>/dev/null || true)}
device=$folder/lib/libnvshmem_device.a
host=$(ls "$folder"/lib/libnvshmem_host.so* 2>/dev/null | head -1)
if [[ ! -e $folder/include/nvshmem.h || ! -e $device || -z $host ]]; then
  echo "nvshmem_module.sh: expected include/nvshmem.h, lib/libnvshmem_device.a and lib/libnvshmem_host.so in" \
    "NVSHMEM's folder, got '$folder'" >&2
  exit 2
fi

objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
flags=(-std=c++17 -O3 -DNDEBUG "-arch=${ARCH:-native}" -rdc=true -Xcompiler -fPIC -DFMT_SHARED
  -Isrc -isystem "$folder/include")
compiling=()
for source in src/collectives/nvshmem/{engine,pe,plan,session}.cc src/modules/nvshmem.cc src/collectives/nvshmem/library.cu \
  src/halo/nvshmem/{engine,plan}.cc src/halo/nvshmem/kernels.cu src/halo/gpu/tiles.cc; do
  nvcc "${flags[@]}" -c "$source" -o "$objects/${source//\//-}.o" &
  compiling+=($!)
done
for process in "${compiling[@]}"; do wait "$process"; done
mkdir -p "$build/modules"
nvcc -shared "-arch=${ARCH:-native}" -cudart static -o "$build/modules/duet_nvshmem.so" "$objects"/*.o \
  "$device" -Xlinker "$host,-rpath=$folder/lib" "$build/libduet.so" -lfmt
echo "built $build/modules/duet_nvshmem.so with $host"
