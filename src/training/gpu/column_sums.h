// Sums over rows, as the gradients of a norm's parameters are: each block writes the sums of its
// own rows, and a second kernel adds the blocks'. The order of a sum is always the same.
#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/operations/accumulate.h"

namespace duet::DUET_GPU {

inline constexpr int kReducedColumns = 32;
inline constexpr int kReductionThreads = 1024;

// A block is `groups` times `lanes` threads, and each lane has values of eight columns. Writes the
// sums over the groups to the first `columns` of 8 * lanes columns. All threads call it together.
template <int lanes, int groups>
__device__ void write_group_sums(const float (&value)[8], float* to, std::int64_t columns) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  if constexpr (groups == 1) {
    if (8 * lane < columns) store8(to + 8 * lane, value);
  } else {
    __shared__ float values[groups][8 * lanes];
    __syncthreads();  // the values of the call before have been read
    store8(&values[threadIdx.x / lanes][8 * lane], value);
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < 8 * lanes; k += groups * lanes) {
      float sum = 0;
      for (int g = 0; g < groups; ++g) sum += values[g][k];
      if (k < columns) to[k] = sum;
    }
  }
}

template <typename T>
struct ColumnSums {
  const float* partials;
  T *first, *second;
  std::int64_t columns, both;  // of `first`, and of both
  int blocks;
  bool add;
};

// A column of threads divides the blocks among it.
template <typename T>
__global__ void __launch_bounds__(kReductionThreads) column_sums_kernel(ColumnSums<T> s) {
  constexpr int kParts = kReductionThreads / kReducedColumns;
  __shared__ float sums[kParts][kReducedColumns];
  const int lane = threadIdx.x % kReducedColumns, part = threadIdx.x / kReducedColumns;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kReducedColumns + lane;
  float sum = 0;
  if (column < s.both) {
#pragma unroll 4
    for (int b = part; b < s.blocks; b += kParts) sum += s.partials[b * s.both + column];
  }
  sums[part][lane] = sum;
  __syncthreads();
  if (part > 0 || column >= s.both) return;
  for (int p = 1; p < kParts; ++p) sum += sums[p][lane];
  T* const to = column < s.columns ? s.first + column : s.second + (column - s.columns);
  store_one(to, sum + (s.add ? as_float(*to) : 0.0f));
}

// Writes the sums of the blocks' partials to `first` and `second`, or adds them. `partials`: for
// each block the columns of `first`, then those of `second`, which may have none and otherwise has
// the type of `first`.
inline void launch_column_sums(const float* partials, int blocks, const Tensor& first,
                               const Tensor& second, Accumulate accumulate, Stream& stream) {
  by_type(first.dtype, [&](auto element) {
    using T = decltype(element);
    const ColumnSums<T> sums{partials,
                             data<T>(first),
                             data<T>(second),
                             first.columns,
                             first.columns + second.columns,
                             blocks,
                             accumulate == Accumulate::yes};
    const auto grid = static_cast<unsigned>((sums.both + kReducedColumns - 1) / kReducedColumns);
    launch(column_sums_kernel<T>, {grid, kReductionThreads}, stream, sums);
  });
}

}  // namespace duet::DUET_GPU
