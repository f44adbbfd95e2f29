#!/usr/bin/env bash
# Checks the HIP device where there is no ROCm. All that it needs is Debian's, unpacked in FOLDER and
# not installed: sid's packages of ROCm, and the newer ones of experimental. Ends with 77 where these
# packages cannot be had.
#   check_hip.sh [FOLDER]          compiles the host sources against HIP's headers of both, and
#                                  compares these with the stand-in's (tests/fake_gpu): values, sizes,
#                                  offsets, every function's type; and those of ROCr, AMD SMI, ROCm
#                                  SMI, rocBLAS, hipBLASLt and RCCL with what Duet declares of them
#   check_hip.sh gfx942 [FOLDER]   compiles all kernels for the architecture (or gfx950), with the
#                                  newest of HIP's headers, by the clang that sid's device libraries
#                                  are built for, and checks the assembly (tests/hip_assembly)
# FOLDER: build-hip-kernels
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
standin=$root/tests/fake_gpu
architecture=
if [[ ${1:-} == gfx* ]]; then
  architecture=$1
  [[ $1 == gfx942 || $1 == gfx950 ]] ||
    { echo "check_hip.sh: expected gfx942 or gfx950, not '$1'" >&2; exit 2; }
  shift
fi
folder=$(realpath -m "${1:-$root/build-hip-kernels}")
sid=$folder/sid newest=$folder/experimental/usr
warnings=(-Wall -Wextra -Werror -Wno-deprecated-declarations)

# with_debian RELEASE COMMAND...: apt-get or apt-cache, which sees Debian's sid and, as RELEASE,
# experimental alone, and no package as installed.
with_debian() {
  local release=$1 tool=$2 under=$folder/$1
  shift 2
  "$tool" -qq -o "Dir::Etc::sourcelist=$under/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o "Dir::State::lists=$under/lists" -o "Dir::State::status=$under/cache/status" \
    -o "Dir::Cache=$under/cache" -o "APT::Default-Release=$release" -o APT::Sandbox::User=root \
    -o Acquire::http::Timeout=20 "$@"
}

need() { "$@" || { echo "skipped: needs packages of Debian ($*)" >&2; exit 77; }; }

# unpack RELEASE NAME: what fetch_NAME downloads, into FOLDER/RELEASE, once.
unpack() {
  local release=$1 name=$2 under=$folder/$1
  [[ ! -e $under/unpacked-$name ]] || return 0
  mkdir -p "$under/lists/partial" "$under/cache/archives/partial"
  local archive each
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    head -n 1) || true
  need test -n "$archive"
  for each in sid "$release"; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $each main"
  done | sort -u > "$under/sources.list"
  : > "$under/cache/status"
  need with_debian "$release" apt-get update
  (cd "$under/cache/archives" && "fetch_$name" "$release")
  for package in "$under/cache/archives"/*.deb; do dpkg -x "$package" "$under"; done
  rm -r "$under/cache" "$under/lists"
  touch "$under/unpacked-$name"
}

fetch_header() { need with_debian "$1" apt-get download libamdhip64-dev libhsa-runtime-dev; }

# ROCm SMI's header includes one of libdrm's.
fetch_libraries() {
  need with_debian "$1" apt-get download libamd-smi-dev librocm-smi-dev librocblas-dev libhipblaslt-dev \
    libhipblas-common-dev librccl-dev libdrm-dev
}

# Of clang's dependencies only its libraries with theirs: the others are for code of the host.
fetch_compiler() {
  local libraries
  libraries=$(with_debian "$1" apt-cache search --names-only '^rocm-device-libs-[0-9]+$' | sort -V | tail -n 1)
  libraries=${libraries%% *}
  need test -n "$libraries"
  local llvm=${libraries##*-}
  need with_debian "$1" apt-get install --download-only --no-install-recommends --yes \
    "$libraries" "libclang-cpp$llvm" "libclang-common-$llvm-dev"
  need with_debian "$1" apt-get download "clang-$llvm"
}

# Those of one folder as one file.
check_host_sources() {
  for sources in "$root"/src/{device/gpu,device/hip,gemm/gpu,gemm/lt,gemm/hipblaslt,gemm/rocblas}; do
    find "$sources" -maxdepth 1 -name '*.cc' -not -name '*_test.cc' -printf '#include "%p"\n' |
      g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -DDUET_GPU_HIP -DDUET_ARCHITECTURES='"gfx942"' \
        -fsyntax-only -I"$root/src" -x c++ -
  done
}

compare_with_standin() {
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" "$standin/hip/abi_values.cc" -o "$folder/of_amd"
  g++ -std=c++17 "${warnings[@]}" -I"$standin" "$standin/hip/abi_values.cc" -o "$folder/of_standin"
  diff <("$folder/of_amd") <("$folder/of_standin")
  # A function that both headers declare, with C linkage and different parameters, does not compile.
  sed -n '/^extern "C" {/,/^}/p' "$standin/hip/hip_runtime_api.h" > "$folder/functions.h"
  printf '#include <cstdint>\n#include <hip/hip_runtime_api.h>\n#include "functions.h"\n' > "$folder/functions.cc"
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -fsyntax-only "$folder/functions.cc"
}

compare_declarations() {
  for values in hsa/hsa smi/amd_smi blas/library; do
    g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -DDUET_GPU_HIP -fsyntax-only -I"$root/src" -I"$root/tests" -I"$standin" \
      "$standin/${values}_values.cc"
  done
}

# version HEADER MACRO: "7.2", of the macros that begin so.
version() { sed -n "s/^#define $2_M[AI][JN]OR *//p" "$include/$1" | paste -sd.; }

# The kernels of src, but those that only NVIDIA's GPUs have, as assembly: as many at once as there
# are cores. Clang runs with sid's C library, under sid's dynamic linker, and so does not find its own
# headers.
compile_kernels() {
  local llvm resources loader=$sid/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
  llvm=$(echo "$sid"/usr/lib/llvm-*)
  resources=$(echo "$llvm"/lib/clang/*)
  rm -rf "$assembly"
  mkdir -p "$assembly"
  find "$root/src" -name '*.cu' -not -path '*/cuda/*' -not -path '*/nvshmem/*' -print0 |
    xargs -0 -P "$(nproc)" -I SOURCE sh -c '
      source=$1 folder=$2
      shift 2
      "$@" "$source" -o "$folder/$(basename "$source" .cu).s" || exit 255' \
      compile SOURCE "$assembly" "$loader" --library-path "$(dirname "$loader"):$llvm/lib" \
      "$llvm/bin/clang++" -resource-dir "$resources" -x hip --cuda-device-only -S \
      --offload-arch="$architecture" --hip-path="$newest" -isystem "$newest/include" \
      --rocm-device-lib-path="$resources/amdgcn/bitcode" \
      -std=c++17 -O3 -Wall -Wextra -Wshadow -Werror -Wno-unused-command-line-argument \
      -DDUET_GPU_HIP -I"$root/src"
}

if [[ -n $architecture ]]; then
  assembly=$folder/$architecture
  unpack experimental header
  unpack sid compiler
  compile_kernels
  python3 "$root/tests/hip_assembly/check.py" "$assembly"/*.s
  exit
fi
for release in sid experimental; do
  unpack "$release" header
  unpack "$release" libraries
  include=$folder/$release/usr/include
  amd=(-D__HIP_PLATFORM_AMD__ -isystem "$include")
  check_host_sources
  compare_with_standin
  compare_declarations
  echo "HIP $(version hip/hip_version.h HIP_VERSION): the host sources compile, the stand-in has its interface," \
    "and ROCr, ROCm SMI, rocBLAS, hipBLASLt, AMD SMI $(version amd_smi/amdsmi.h AMDSMI_LIB_VERSION) and" \
    "RCCL $(version rccl/rccl.h NCCL) (compared from 2.27 on) are as declared"
done
