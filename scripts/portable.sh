#!/usr/bin/env bash
# Builds Duet for systems older than this one, with the compiler and the libraries of Debian 11:
#   portable.sh FOLDER [all|drop-in] [CMAKE_ARGUMENT...]
#   drop-in   FOLDER/build/nccl_shim: the drop-in for NCCL, for x86-64 with glibc 2.28 or later
#   all       that, and FOLDER/duet-*.tar.gz, which runs from any folder: for glibc 2.31 or later, with
#             libstdc++ of GCC 10, libgomp and hwloc (libstdc++6, libgomp1, libhwloc15). Where they are
#             installed it also uses OpenBLAS, libfabric and SQLite (libopenblas0, libfabric1,
#             libsqlite3-0); it has no modules for MPI and oneDNN
# It needs mmdebstrap and Debian's archive. With the CUDA toolkit ($CUDACXX, or /usr/local/cuda) the
# CUDA device is built as well, for the GPUs that -DDUET_CUDA_ARCHITECTURES=... names.
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
folder=${1:?usage: portable.sh FOLDER [all|drop-in] [CMAKE_ARGUMENT...]} what=${2:-all}
shift $(($# < 2 ? $# : 2))
[[ $what == all || $what == drop-in ]] || { echo "portable.sh: expected all or drop-in, not '$what'" >&2; exit 2; }
command -v mmdebstrap > /dev/null || { echo "portable.sh needs mmdebstrap" >&2; exit 1; }
mkdir -p "$folder"
folder=$(realpath "$folder")
root=$folder/sysroot

# Headers of what is header-only are this system's: Debian 11's are too old.
headers() {
  cp -r /usr/include/{fmt,nlohmann,CLI,toml++} "$root/usr/include/"
  mkdir -p "$root/usr/share/cmake/fmt"
  cp -r /usr/share/cmake/{nlohmann_json,CLI11} "$root/usr/share/cmake/"
  cat > "$root/usr/share/cmake/fmt/fmtConfig.cmake" << 'end'
add_library(fmt::fmt-header-only INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
add_library(fmt::fmt ALIAS fmt::fmt-header-only)
end
}

packages=g++-10,libc6-dev,libhwloc-dev,libssl-dev,zlib1g-dev
[[ $what == drop-in ]] || packages+=,libopenblas-openmp-dev,libfabric-dev
if [[ $(cat "$folder/complete" 2> /dev/null) != "$packages"* ]]; then
  rm -rf "$root"
  mmdebstrap --quiet --variant=extract --include="$packages" bullseye "$root"
  # Links to absolute paths would leave the sysroot.
  find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfnr "$root$(readlink "$link")" "$link"
  done
  # One of Debian's alternatives, which a package's scripts would choose.
  [[ $what == drop-in ]] || ln -s openblas-openmp/libopenblas.so "$root/usr/lib/x86_64-linux-gnu/"
  headers
  echo "$packages" > "$folder/complete"
fi

# The compiler is Debian 11's, run by this system's libraries. glibc has pthread_cond_clockwait since
# 2.30; without it waits with a deadline on the steady clock are made of shorter ones on the system's.
mkdir -p "$folder/bin"
# All objects depend on it: a second run leaves it as it is.
[[ -e $folder/before_glibc_2.30.h ]] || cat > "$folder/before_glibc_2.30.h" << 'end'
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
end
cat > "$folder/bin/g++" << end
#!/bin/sh
exec "$root/usr/bin/x86_64-linux-gnu-g++-10" --sysroot="$root" -include "$folder/before_glibc_2.30.h" "\$@"
end
chmod +x "$folder/bin/g++"

nvcc=${CUDACXX:-/usr/local/cuda/bin/nvcc}
cuda=(-DDUET_CUDA=OFF)
toolkit=
if [[ -x $nvcc ]]; then
  toolkit=$(dirname "$(dirname "$(realpath "$nvcc")")")
  cuda=(-DDUET_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_HOST_COMPILER="$folder/bin/g++"
    -DCUDAToolkit_ROOT="$toolkit")
fi
# Undefined names are allowed in other libraries: Debian 11's libfabric needs libpsm_infinipath, which
# its package's scripts choose among alternatives.
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/x86_64-linux-gnu/pkgconfig
cmake -S "$source" -B "$folder/build" -G Ninja \
  -DCMAKE_CXX_COMPILER="$folder/bin/g++" -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu \
  -DCMAKE_FIND_ROOT_PATH="$root;$toolkit" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
  -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DOPENSSL_USE_STATIC_LIBS=ON -DZLIB_USE_STATIC_LIBS=ON -DDUET_TESTS=OFF \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--allow-shlib-undefined \
  -DDUET_HIP=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 "${cuda[@]}" "$@"
cmake --build "$folder/build" --target duet_nccl_preload duet_nccl_replacement
"$source/tests/nccl_shim/needs.sh" "$folder/build/nccl_shim" 2.28

# starts ARGUMENT...: runs a program on Debian 11's C library.
starts() {
  local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
  "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$@"
}
errors=$(starts --preload "$folder/build/nccl_shim/libduet-nccl.so" \
  "$root/usr/bin/x86_64-linux-gnu-gcc-10" --version 2>&1 > "$folder/started")
[[ -z $errors && -s $folder/started ]] || { echo "portable.sh: libduet-nccl.so cannot be preloaded: $errors" >&2; exit 1; }
[[ $what == all ]] || exit 0

cmake --build "$folder/build"
"$source/tests/build/glibc.sh" 2.31 "$folder/build"/{duet,libduet.so,modules/*.so}
(cd "$folder/build" && cpack -G TGZ -B "$folder/packed")
mv "$folder"/packed/duet-*.tar.gz "$folder/"
starts "$folder/build/duet" --version
for words in "gemm --device sim:h200" "copy --device host:2 --sizes 64K --matrix 0" \
  "collective all --device host:2 -b 64K -e 64K" "run quick --device sim:h200-4"; do
  # shellcheck disable=SC2086
  starts "$folder/build/duet" $words --quiet
done
