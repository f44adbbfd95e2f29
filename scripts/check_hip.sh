#!/usr/bin/env bash
# Checks the HIP device where there is no ROCm. All that it needs is Debian's, unpacked in FOLDER
# and not installed.
#   check_hip.sh FOLDER            compiles the host sources against HIP 6's header (sid's), and
#                                  compares that header with the one of the stand-in
#                                  (tests/standin): values, sizes, offsets, every function's type
#   check_hip.sh gfx942 [FOLDER]   compiles all kernels for the architecture with clang 19
#                                  (bookworm's) and ROCm's device libraries (trixie's), and checks
#                                  the assembly (tests/hip_assembly); FOLDER: build-hip-gfx942
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
standin=$root/tests/standin
architecture=
if [[ ${1:-} == gfx* ]]; then
  architecture=$1
  [[ $1 == gfx942 ]] || { echo "check_hip.sh: expected gfx942, not '$1'" >&2; exit 2; }
  shift
  set -- "${1:-$root/build-hip-$architecture}"
fi
folder=$(realpath -m "${1:?usage: check_hip.sh [gfx942] FOLDER}")
warnings=(-Wall -Wextra -Werror -Wno-deprecated-declarations)
amd=(-D__HIP_PLATFORM_AMD__ -isystem "$folder/sid/usr/include")

# unpack SUITE PACKAGE...: Debian's packages of a suite into FOLDER/SUITE, once.
unpack() {
  local suite=$1 into=$folder/$1
  shift
  [[ ! -e $into/unpacked ]] || return 0
  mkdir -p "$into/lists/partial" "$into/packages"
  local archive
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "${archive:?apt names no archive of Debian} $suite main" > "$into/sources.list"
  local apt=(-qq -o "Dir::Etc::sourcelist=$into/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$into/lists" -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update
  (cd "$into/packages" && apt-get "${apt[@]}" download "$@")
  for package in "$into/packages"/*.deb; do dpkg -x "$package" "$into"; done
  rm -r "$into/packages" "$into/lists"
  touch "$into/unpacked"
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
}

# The kernels of src, but those that only NVIDIA's GPUs have, as assembly: as many at once as there
# are cores.
compile_kernels() {
  local llvm=$folder/bookworm/usr
  export LD_LIBRARY_PATH=$llvm/lib/llvm-19/lib:$llvm/lib/x86_64-linux-gnu
  mkdir -p "$folder/assembly"
  find "$root/src" -name '*.cu' -not -path '*/cuda/*' -not -path '*/nvshmem/*' -print0 |
    xargs -0 -P "$(nproc)" -I SOURCE sh -c '
      source=$1 folder=$2
      shift 2
      "$@" "$source" -o "$folder/assembly/$(basename "$source" .cu).s" || exit 255' \
      compile SOURCE "$folder" "$llvm/lib/llvm-19/bin/clang++" -x hip --cuda-device-only -S \
      --offload-arch="$architecture" --hip-path="$folder/sid/usr" -isystem "$folder/sid/usr/include" \
      --rocm-device-lib-path="$folder/trixie/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode" \
      -std=c++17 -O3 -Wall -Wextra -Wshadow -Werror -Wno-unused-command-line-argument \
      -DDUET_GPU_HIP -I"$root/src"
}

unpack sid libamdhip64-dev
if [[ -n $architecture ]]; then
  unpack bookworm clang-19 libclang-common-19-dev libclang-cpp19 libllvm19
  unpack trixie rocm-device-libs-17
  compile_kernels
  python3 "$root/tests/hip_assembly/check.py" "$folder"/assembly/*.s
  exit
fi
check_host_sources
compare_with_standin
version=$(sed -n 's/^#define HIP_VERSION_M[AI][JN]OR *//p' \
  "$folder/sid/usr/include/hip/hip_version.h" | paste -sd.)
echo "compiled against HIP $version, whose interface is the stand-in's"
