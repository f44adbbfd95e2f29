#!/usr/bin/env bash
# Compiles the HIP device's host sources against HIP 6's header, and compares that header with the
# one of the stand-in (tests/standin): values, sizes and offsets, and every function's type. The
# header is Debian sid's, unpacked beside and not installed. check_hip.sh FOLDER
set -euo pipefail
folder=$(realpath -m "${1:?a folder for the header}")
root=$(realpath "$(dirname "$0")/..")
standin=$root/tests/standin

if [[ ! -e $folder/usr/include/hip/hip_runtime_api.h ]]; then
  mkdir -p "$folder/lists/partial"
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "${archive:?apt names no archive of Debian} sid main" > "$folder/sources.list"
  apt=(-qq -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$folder/lists" -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update
  (cd "$folder" && apt-get "${apt[@]}" download libamdhip64-dev && dpkg -x libamdhip64-dev_*.deb .)
fi
version=$(sed -n 's/^#define HIP_VERSION_M[AI][JN]OR *//p' "$folder/usr/include/hip/hip_version.h" |
  paste -sd.)
warnings=(-Wall -Wextra -Werror -Wno-deprecated-declarations)
amd=(-D__HIP_PLATFORM_AMD__ -isystem "$folder/usr/include")

for source in "$root"/src/{device/gpu,device/hip,gemm/gpu,gemm/rocblas}/*.cc; do
  [[ $source != *_test.cc ]] || continue
  g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -DDUET_GPU_HIP -DDUET_ARCHITECTURES='"gfx942"' \
    -fsyntax-only -I"$root/src" "$source"
done

g++ -std=c++17 "${warnings[@]}" "${amd[@]}" "$standin/abi_values.cc" -o "$folder/of_amd"
g++ -std=c++17 "${warnings[@]}" -I"$standin" "$standin/abi_values.cc" -o "$folder/of_standin"
diff <("$folder/of_amd") <("$folder/of_standin")

# A function that both headers declare, with C linkage and different parameters, does not compile.
sed -n '/^extern "C" {/,/^}/p' "$standin/hip/hip_runtime_api.h" > "$folder/functions.h"
printf '#include <cstdint>\n#include <hip/hip_runtime_api.h>\n#include "functions.h"\n' > "$folder/functions.cc"
g++ -std=c++17 "${warnings[@]}" "${amd[@]}" -fsyntax-only "$folder/functions.cc"
echo "compiled against HIP $version, whose interface is the stand-in's"
