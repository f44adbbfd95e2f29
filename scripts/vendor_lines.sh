#!/usr/bin/env bash
# How many lines of src (without empty ones and tests) only NVIDIA's GPUs have, how many only AMD's,
# and how many are for both: vendor_lines.sh [REVISION]. Folders with the name of one vendor's
# interface are its own. Of those for both, branches of the preprocessor belong to one.
set -euo pipefail
cd "$(dirname "$0")/.."
revision=${1:-HEAD}
git ls-tree -r --name-only "$revision" src |
  grep -E '/(cuda|cublas|cudnn|nvshmem|hip|hipblaslt|rocblas|gpu|lt|nccl)/[^/]*\.(h|cc|cu)$' |
  grep -vE '_test\.cc$|_fixture\.h$|/fake\.' |
  while read -r file; do
    echo "#file $file"
    git show "$revision:$file"
  done | awk '
    function vendor(line) {
      if (line ~ /CUDACC|HIPCC/) return "both"
      if (line ~ /DUET_GPU_HIP|DUET_NCCL_IS_RCCL|__HIP_|__GFX/) return "AMD"
      return line ~ /__CUDA_ARCH__/ ? "NVIDIA" : "both"
    }
    $1 == "#file" {
      depth = 0
      of[0] = $2 ~ /\/(hip|hipblaslt|rocblas)\// ? "AMD" : $2 ~ /\/(gpu|lt|nccl)\// ? "both" : "NVIDIA"
      next
    }
    /^ *#if/ { ++depth; first[depth] = vendor($0); of[depth] = of[depth - 1] == "both" ? first[depth] : of[depth - 1]; next }
    /^ *#elif/ { if (of[depth - 1] == "both") of[depth] = vendor($0); next }
    /^ *#else/ { if (of[depth - 1] == "both") of[depth] = first[depth] == "AMD" ? "NVIDIA" : "both"; next }
    /^ *#endif/ { --depth; next }
    NF { ++lines[of[depth]] }
    END { printf "only NVIDIA %d, only AMD %d, both %d\n", lines["NVIDIA"], lines["AMD"], lines["both"] }'
