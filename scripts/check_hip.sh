#!/usr/bin/env bash
# Checks the HIP device where there is no ROCm. All that it needs is Debian sid's, unpacked in FOLDER
# and not installed. Ends with 77 where these packages cannot be had.
#   check_hip.sh FOLDER            compiles the host sources against HIP 6's header, and compares
#                                  that header with the one of the stand-in (tests/standin): values,
#                                  sizes, offsets, every function's type; and ROCr's with what
#                                  device/hip/hsa.h declares of it
#   check_hip.sh gfx942 [FOLDER]   compiles all kernels for the architecture (or gfx950) with the
#                                  clang that ROCm's device libraries are built for, and checks the
#                                  assembly (tests/hip_assembly); FOLDER: build-hip-kernels
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
standin=$root/tests/standin
architecture=
if [[ ${1:-} == gfx* ]]; then
  architecture=$1
  [[ $1 == gfx942 || $1 == gfx950 ]] ||
    { echo "check_hip.sh: expected gfx942 or gfx950, not '$1'" >&2; exit 2; }
  shift
  set -- "${1:-$root/build-hip-kernels}"
fi
folder=$(realpath -m "${1:?usage: check_hip.sh [gfx942|gfx950] FOLDER}")
sid=$folder/sid
warnings=(-Wall -Wextra -Werror -Wno-deprecated-declarations)
amd=(-D__HIP_PLATFORM_AMD__ -isystem "$sid/usr/include")

# with_sid COMMAND...: apt-get or apt-cache, which sees Debian sid alone, and no package as installed.
with_sid() {
  local tool=$1
  shift
  "$tool" -qq -o "Dir::Etc::sourcelist=$sid/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o "Dir::State::lists=$sid/lists" -o "Dir::State::status=$sid/cache/status" -o "Dir::Cache=$sid/cache" \
    -o APT::Sandbox::User=root -o Acquire::http::Timeout=20 "$@"
}

need() { "$@" || { echo "skipped: needs packages of Debian sid ($*)" >&2; exit 77; }; }

# unpack NAME: what fetch_NAME downloads, into FOLDER/sid, once.
unpack() {
  [[ ! -e $sid/unpacked-$1 ]] || return 0
  mkdir -p "$sid/lists/partial" "$sid/cache/archives/partial"
  local archive
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    head -n 1) || true
  need test -n "$archive"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive sid main" > "$sid/sources.list"
  : > "$sid/cache/status"
  need with_sid apt-get update
  (cd "$sid/cache/archives" && "fetch_$1")
  for package in "$sid/cache/archives"/*.deb; do dpkg -x "$package" "$sid"; done
  rm -r "$sid/cache" "$sid/lists"
  touch "$sid/unpacked-$1"
}

fetch_header() { need with_sid apt-get download libamdhip64-dev libhsa-runtime-dev; }

# Of clang's dependencies only its libraries with theirs: the others are for code of the host.
fetch_compiler() {
  local libraries
  libraries=$(with_sid apt-cache search --names-only '^rocm-device-libs-[0-9]+$' | sort -V | tail -n 1)
  libraries=${libraries%% *}
  need test -n "$libraries"
  local llvm=${libraries##*-}
  need with_sid apt-get install --download-only --no-install-recommends --yes \
    "$libraries" "libclang-cpp$llvm" "libclang-common-$llvm-dev"
  need with_sid apt-get download "clang-$llvm"
}

check_host_sources() {
  for source in "$root"/src/{device/gpu,device/hip,gemm/gpu,gemm/lt,gemm/hipblaslt,gemm/rocblas}/*.cc; do
    [[ $source != *_test.cc ]] || continue
    g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -DDUET_GPU_HIP -DDUET_ARCHITECTURES='"gfx942"' \
      -fsyntax-only -I"$root/src" "$source"
  done
}

compare_with_standin() {
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" "$standin/abi_values.cc" -o "$folder/of_amd"
  g++ -std=c++17 "${warnings[@]}" -I"$standin" "$standin/abi_values.cc" -o "$folder/of_standin"
  diff <("$folder/of_amd") <("$folder/of_standin")
  # A function that both headers declare, with C linkage and different parameters, does not compile.
  sed -n '/^extern "C" {/,/^}/p' "$standin/hip/hip_runtime_api.h" > "$folder/functions.h"
  printf '#include <cstdint>\n#include <hip/hip_runtime_api.h>\n#include "functions.h"\n' > "$folder/functions.cc"
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -fsyntax-only "$folder/functions.cc"
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -fsyntax-only "$standin/hsa_values.cc"
}

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
      --offload-arch="$architecture" --hip-path="$sid/usr" -isystem "$sid/usr/include" \
      --rocm-device-lib-path="$resources/amdgcn/bitcode" \
      -std=c++17 -O3 -Wall -Wextra -Wshadow -Werror -Wno-unused-command-line-argument \
      -DDUET_GPU_HIP -I"$root/src"
}

unpack header
if [[ -n $architecture ]]; then
  assembly=$folder/$architecture
  unpack compiler
  compile_kernels
  python3 "$root/tests/hip_assembly/check.py" "$assembly"/*.s
  exit
fi
check_host_sources
compare_with_standin
version=$(sed -n 's/^#define HIP_VERSION_M[AI][JN]OR *//p' \
  "$sid/usr/include/hip/hip_version.h" | paste -sd.)
echo "compiled against HIP $version, whose interface is the stand-in's"
