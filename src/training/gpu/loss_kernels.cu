// Losses. Of cross-entropy a block reads a row of logits once, keeps it in shared memory where it
// fits there, and writes the gradient in its place.
#include <algorithm>

#include "training/gpu/element8.h"
#include "training/gpu/group_sum.h"
#include "training/gpu/kernels.h"
#include "training/gpu/launch.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = 512;
constexpr int kLoads = 4;  // of a thread at once: one alone would wait for memory
constexpr std::uint64_t kStaticShared = 1024;  // of the sums, rounded up

template <typename T>
struct LossRows {
  T* logits;
  const std::int32_t* targets;
  float* losses;
  std::int64_t columns, vocabulary;
  float scale;  // of the gradient
};

// The largest logit so far, and the sum of exp(logit - largest).
struct RunningSum {
  float largest = -INFINITY, sum = 0;

  __device__ void add(const float (&value)[8], int count) {
    float most = largest;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) most = fmaxf(most, value[i]);
    }
    if (most > largest) sum *= __expf(largest - most);
    largest = most;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) sum += __expf(value[i] - most);
    }
  }
};

__device__ RunningSum of_block(RunningSum my) {
  __shared__ float largest[kThreads / 32];
  const float most_of_warp = warp_max(my.largest);
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = most_of_warp;
  __syncthreads();
  float most = largest[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) most = fmaxf(most, largest[i]);
  float sum[1] = {my.largest == -INFINITY ? 0.0f : my.sum * __expf(my.largest - most)};
  group_sum<kThreads>(sum);
  return {most, sum[0]};
}

// How many of the eight columns from `column` on are in the vocabulary.
__device__ int columns_inside(std::int64_t column, std::int64_t vocabulary) {
  const std::int64_t left = vocabulary - column;
  return left >= 8 ? 8 : left > 0 ? static_cast<int>(left) : 0;
}

template <typename T, bool staged>
__global__ void __launch_bounds__(kThreads) loss_kernel(LossRows<T> rows) {
  auto* const kept = dynamic_shared<Packed8<T>>();
  const std::int64_t row = blockIdx.x;
  T* const logits = rows.logits + row * rows.columns;
  const std::int64_t packs = rows.columns / 8;
  const std::int32_t target = rows.targets[row];
  float target_logit = 0;
  if (threadIdx.x == 0) target_logit = as_float(logits[target]);  // before it is overwritten
  RunningSum running;
  for (std::int64_t begin = threadIdx.x; begin < packs; begin += kLoads * kThreads) {
    Packed8<T> packed[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const std::int64_t p = begin + i * kThreads;
      if (p < packs) packed[i] = load_packed(logits + 8 * p);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const std::int64_t p = begin + i * kThreads;
      if (p >= packs) continue;
      if constexpr (staged) kept[p] = packed[i];
      float value[8];
      unpack(packed[i], value);
      running.add(value, columns_inside(8 * p, rows.vocabulary));
    }
  }
  const RunningSum all = of_block(running);
  const float factor = rows.scale / all.sum;
  for (std::int64_t p = threadIdx.x; p < packs; p += kThreads) {
    float value[8];
    if constexpr (staged) {
      unpack(kept[p], value);
    } else {
      load8(logits + 8 * p, value);
    }
    const int inside = columns_inside(8 * p, rows.vocabulary);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value[i] = i < inside ? __expf(value[i] - all.largest) * factor : 0.0f;
      if (8 * p + i == target) value[i] -= rows.scale;
    }
    store8(logits + 8 * p, value);
  }
  if (threadIdx.x == 0) rows.losses[row] = logf(all.sum) + all.largest - target_logit;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    squared_error_kernel(T* prediction, const T* target, std::int64_t columns, float scale,
                         float* losses) {
  const std::int64_t begin = blockIdx.x * columns;
  float sum[1] = {};
  for (std::int64_t p = threadIdx.x; 8 * p < columns; p += kThreads) {
    float value[8], wanted[8];
    load8(prediction + begin + 8 * p, value);
    load8(target + begin + 8 * p, wanted);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float difference = value[i] - wanted[i];
      sum[0] += difference * difference;
      value[i] = scale * difference;
    }
    store8(prediction + begin + 8 * p, value);
  }
  group_sum<kThreads>(sum);
  if (threadIdx.x == 0) losses[blockIdx.x] = sum[0] / static_cast<float>(columns);
}

__global__ void mean_kernel(const float* values, std::int64_t count, float* mean) {
  float sum[1] = {};
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) sum[0] += values[i];
  group_sum<kThreads>(sum);
  if (threadIdx.x == 0) *mean = sum[0] / static_cast<float>(count);
}

}  // namespace

void launch_mean(const Tensor& values, const Tensor& mean, Stream& stream) {
  launch(mean_kernel, {1, kThreads}, stream, data<float>(values), values.count(),
         data<float>(mean));
}

void launch_cross_entropy_piece(const Tensor& logits, std::int64_t vocabulary,
                                const Tensor& targets, std::int64_t batch_rows,
                                const Tensor& row_losses, std::uint64_t most_shared,
                                Stream& stream) {
  by_type(logits.dtype, [&](auto element) {
    using T = decltype(element);
    const LossRows<T> rows{data<T>(logits),
                           data<std::int32_t>(targets),
                           data<float>(row_losses),
                           logits.columns,
                           vocabulary,
                           1.0f / static_cast<float>(batch_rows)};
    const std::uint64_t bytes = static_cast<std::uint64_t>(logits.columns) * sizeof(T);
    const auto blocks = static_cast<unsigned>(logits.rows);
    if (bytes + kStaticShared <= most_shared) {
      launch(loss_kernel<T, true>, {blocks, kThreads, bytes}, stream, rows);
    } else {
      launch(loss_kernel<T, false>, {blocks, kThreads}, stream, rows);
    }
  });
}

void launch_mean_squared_error(const Tensor& prediction, const Tensor& target,
                               const Tensor& row_losses, const Tensor& loss, Stream& stream) {
  by_type(prediction.dtype, [&](auto element) {
    using T = decltype(element);
    const float scale = 2.0f / static_cast<float>(prediction.count());
    launch(squared_error_kernel<T>, {static_cast<unsigned>(prediction.rows), kThreads}, stream,
           data<T>(prediction), data<T>(target), prediction.columns, scale,
           data<float>(row_losses));
  });
  launch_mean(row_losses, loss, stream);
}

}  // namespace duet::DUET_GPU
