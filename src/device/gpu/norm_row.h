// A row that is normalised by a block of gpu::kNormThreads threads, or by several (RowNorm).
#pragma once

#ifndef DUET_GPU_HIP
#include <cooperative_groups.h>
#endif

#include <cstdint>

#include "device/gpu/group_sum.h"
#include "device/gpu/norm_table.h"
#include "device/gpu/word_pairs.h"

namespace duet::DUET_GPU {

__device__ inline Pair unit_at(const unsigned char* from, std::uint64_t unit) {
  return reinterpret_cast<const Pair*>(from)[unit];
}

// By all threads of the blocks that share a row. A block's shared memory may be accessed by others
// only when it runs: so before cluster_sum().
__device__ inline void sync_cluster([[maybe_unused]] unsigned blocks) {
#if !defined(DUET_GPU_HIP) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (blocks > 1) cooperative_groups::this_cluster().sync();
#endif
}

// Adds up a value of each block that shares a row, in the order of blocks. Consecutive calls have
// `half` 0 and 1 in turn, of the shared memory, so that one barrier a call suffices.
__device__ inline float cluster_sum(float value, [[maybe_unused]] unsigned blocks,
                                    [[maybe_unused]] unsigned half) {
#if !defined(DUET_GPU_HIP) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (blocks > 1) {
    __shared__ float parts[2][gpu::kMostNormBlocks];
    const auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x < blocks)
      *cluster.map_shared_rank(&parts[half][blockIdx.x % blocks], threadIdx.x) = value;
    cluster.sync();
    value = 0;
    for (unsigned block = 0; block < blocks; ++block) value += parts[half][block];
  }
#endif
  return value;
}

// Rows that the blocks of this one's cluster have.
struct RowsOfBlock {
  std::uint64_t first, step;
  __device__ explicit RowsOfBlock(const gpu::NormRows& of)
      : first(blockIdx.x / of.blocks), step(gridDim.x / of.blocks) {}
};

// This thread's units of a row in registers: all indices must be known where loops are unrolled.
template <typename Type>
class NormRow {
 public:
  using Shape = WordPairs<Type>;

  // Which units those are: unit i of the thread, in the row. The next one is step() further.
  static __device__ std::uint32_t unit(const gpu::NormRows& of, unsigned i) {
    return threadIdx.x + (blockIdx.x % of.blocks) * gpu::kNormThreads + i * step(of);
  }
  static __device__ std::uint32_t step(const gpu::NormRows& of) {
    return of.blocks * gpu::kNormThreads;
  }
  static __device__ bool has(const gpu::NormRows& of, unsigned i) { return unit(of, i) < of.units; }

  __device__ NormRow(const gpu::NormRows& of) : of_(of) {
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; ++i) {
      if (has(of, i)) weights_[i] = unit_at(of.weight, unit(of, i));
    }
  }

  // Adds the sum to the residual: the thread's unit i, which is unit `at` of all rows.
  __device__ void add(unsigned i, std::uint64_t at, const Pair& residual,
                      const float (&sum)[Shape::kCount]) {
    float values[Shape::kCount];
#pragma unroll
    for (int j = 0; j < Shape::kCount; ++j) values[j] = Shape::get(residual, j) + sum[j];
    values_[i] = Shape::make(values);
    reinterpret_cast<Pair*>(of_.updated)[at] = values_[i];
#pragma unroll
    for (int j = 0; j < Shape::kCount; ++j) {
      const float rounded = Shape::get(values_[i], j);
      squares_ += rounded * rounded;
    }
  }

  // By all threads of the row's blocks, behind all of their add(). The next row may follow.
  __device__ void finish(std::uint64_t row) {
    float sum[1] = {squares_};
    group_sum<gpu::kNormThreads>(sum);
    half_ = 1 - half_;
    const float squares = cluster_sum(sum[0], of_.blocks, half_);
    const float scale = rsqrtf(squares / of_.columns + of_.epsilon);
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; ++i) {
      if (!has(of_, i)) continue;
      float values[Shape::kCount];
#pragma unroll
      for (int j = 0; j < Shape::kCount; ++j)
        values[j] = Shape::get(values_[i], j) * scale * Shape::get(weights_[i], j);
      reinterpret_cast<Pair*>(of_.result)[row * of_.units + unit(of_, i)] = Shape::make(values);
    }
    squares_ = 0;
  }

 private:
  const gpu::NormRows& of_;
  Pair weights_[gpu::kNormUnits], values_[gpu::kNormUnits];
  float squares_ = 0;
  unsigned half_ = 0;
};

}  // namespace duet::DUET_GPU
