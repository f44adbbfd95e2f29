// Points of a row that one thread handles: four, by accesses of 16 bytes, or one where rows do not
// begin at multiples of 16 bytes.
#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

template <int width>
struct Points {
  float at[width];
};

// By ordinary loads: halo rows are written by other devices while a kernel runs, so that loads for
// read-only data would not do.
template <int width>
__device__ inline Points<width> load_points(const float* from) {
  if constexpr (width == 4) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    return {{four.x, four.y, four.z, four.w}};
  } else {
    return {{*from}};
  }
}

template <int width>
__device__ inline void store_points(float* to, const Points<width>& points) {
  if constexpr (width == 4) {
    *reinterpret_cast<float4*>(to) =
        make_float4(points.at[0], points.at[1], points.at[2], points.at[3]);
  } else {
    *to = points.at[0];
  }
}

// Stores what is not read again before all else has been: the cache may evict it first, in favour
// of rows that the next blocks read.
template <int width>
__device__ inline void stream_points(float* to, const Points<width>& points) {
#ifdef DUET_GPU_HIP
#pragma unroll
  for (int i = 0; i < width; ++i) __builtin_nontemporal_store(points.at[i], to + i);
#else
  if constexpr (width == 4) {
    __stcs(reinterpret_cast<float4*>(to),
           make_float4(points.at[0], points.at[1], points.at[2], points.at[3]));
  } else {
    __stcs(to, points.at[0]);
  }
#endif
}

// Of the thread before, and of the thread after, among 32 neighbours.
__device__ inline float from_left(float value) {
#ifdef DUET_GPU_HIP
  return __shfl_up(value, 1, 32);
#else
  return __shfl_up_sync(0xFFFFFFFFu, value, 1);
#endif
}
__device__ inline float from_right(float value) {
#ifdef DUET_GPU_HIP
  return __shfl_down(value, 1, 32);
#else
  return __shfl_down_sync(0xFFFFFFFFu, value, 1);
#endif
}

// Over 32 neighbours, in a fixed order; the same in all of them.
__device__ inline double warp_sum(double value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
#ifdef DUET_GPU_HIP
    value += __shfl_xor(value, mask, 32);
#else
    value += __shfl_xor_sync(0xFFFFFFFFu, value, mask);
#endif
  }
  return value;
}

// Over a block of `threads` threads, in a fixed order; in thread 0. All threads call it.
template <int threads>
__device__ double block_sum(double value) {
  __shared__ double parts[threads / 32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < threads / 32; ++i) sum += parts[i];
  }
  return sum;
}

}  // namespace duet::DUET_GPU
