// Sums over the threads that share a row. The order of a sum is always the same.
#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

inline constexpr int kRowThreads = 256;  // threads of a block that works on rows
inline constexpr int kMostWarps = 32;    // of 32 threads, in any block

// Exchanges between threads of 32 neighbours, also where more run in lockstep.
__device__ inline float shuffle_xor(float value, int mask) {
#ifdef DUET_GPU_HIP
  return __shfl_xor(value, mask, 32);
#else
  return __shfl_xor_sync(0xFFFFFFFFu, value, mask);
#endif
}

// Over groups of `lanes` neighbours, a power of two.
template <int lanes = 32>
__device__ float warp_sum(float value) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

__device__ inline float warp_max(float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value = fmaxf(value, shuffle_xor(value, mask));
  return value;
}

// Sums each of N values over groups of `lanes` neighbouring threads: 32, or more, and then all
// threads of the block must call it together.
template <int lanes, int N>
__device__ void group_sum(float (&value)[N]) {
#pragma unroll
  for (int n = 0; n < N; ++n) value[n] = warp_sum(value[n]);
  if constexpr (lanes > 32) {
    __shared__ float parts[N][kMostWarps];
    const int first = static_cast<int>(threadIdx.x) / lanes * (lanes / 32);
    __syncthreads();  // the parts of the call before have been read
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int n = 0; n < N; ++n) parts[n][threadIdx.x / 32] = value[n];
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) {
      value[n] = 0;
#pragma unroll
      for (int i = 0; i < lanes / 32; ++i) value[n] += parts[n][first + i];
    }
  }
}

}  // namespace duet::DUET_GPU
