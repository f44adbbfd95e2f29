// Losses. Of cross-entropy a block reads a row of logits once, keeps it in shared memory where it
// fits there, and writes the gradient in its place.
#include <algorithm>

#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/fast_math.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = 1024;
constexpr int kLoads = 2;  // of a thread at once: one alone would wait for memory
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;  // log2(e) and ln(2)
constexpr std::uint64_t kStaticShared = 1024;               // of the sums, rounded up

template <typename T>
struct LossRows {
  T* logits;
  const std::int32_t* targets;
  float* losses;
  std::int64_t columns, vocabulary;
  float scale;  // of the gradient
};

// Of logits in units of ln 2, so that e^logit is 2^value: the largest so far, and the sum of
// 2^(value - largest).
struct RunningSum {
  float largest = -INFINITY, sum = 0;

  __device__ void add(const float (&logit)[8]) {
    float most = logit[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) most = fmaxf(most, logit[i]);
    most *= kLog2E;
    if (most > largest) {
      sum *= fast_exp2(largest - most);
      largest = most;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += fast_exp2(fmaf(logit[i], kLog2E, -largest));
  }
};

__device__ RunningSum of_block(RunningSum my) {
  __shared__ float largest[kThreads / 32];
  const float most_of_warp = warp_max(my.largest);
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = most_of_warp;
  __syncthreads();
  const float most = warp_max(largest[threadIdx.x % (kThreads / 32)]);
  float sum[1] = {my.largest == -INFINITY ? 0.0f : my.sum * fast_exp2(my.largest - most)};
  group_sum<kThreads>(sum);
  return {most, sum[0]};
}

// Columns beyond the vocabulary are not summed, and have no gradient.
__device__ void leave_out(float (&logit)[8], std::int64_t column, std::int64_t vocabulary) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (column + i >= vocabulary) logit[i] = -INFINITY;
  }
}

template <typename T, bool staged>
__global__ void __launch_bounds__(kThreads, 2) loss_kernel(LossRows<T> rows) {
  auto* const kept = dynamic_shared<Packed8<T>>();
  T* const logits = rows.logits + static_cast<std::int64_t>(blockIdx.x) * rows.columns;
  const int packs = static_cast<int>(rows.columns / 8);
  const int whole = static_cast<int>(rows.vocabulary / 8);  // packs inside the vocabulary
  const int target = rows.targets[blockIdx.x];
  float target_logit = 0;
  if (threadIdx.x == 0) target_logit = as_float(logits[target]);  // before it is overwritten
  RunningSum running;
  for (int begin = static_cast<int>(threadIdx.x); begin < packs; begin += kLoads * kThreads) {
    Packed8<T> packed[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int p = begin + i * kThreads;
      if (p < packs) packed[i] = load_packed(logits + 8 * p);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int p = begin + i * kThreads;
      if (p >= packs) continue;
      if constexpr (staged) kept[p] = packed[i];
      if (8 * p >= rows.vocabulary) continue;
      float logit[8];
      unpack(packed[i], logit);
      if (p >= whole) leave_out(logit, 8 * p, rows.vocabulary);
      running.add(logit);
    }
  }
  const RunningSum all = of_block(running);
  // The gradient is scale * 2^(value - largest) / sum.
  const float offset = all.largest - log2f(rows.scale / all.sum);
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += kThreads) {
    float value[8];
    if constexpr (staged) {
      unpack(kept[p], value);
    } else {
      load8(logits + 8 * p, value);
    }
    if (p >= whole) leave_out(value, 8 * p, rows.vocabulary);
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = fast_exp2(fmaf(value[i], kLog2E, -offset));
    if (p == target / 8) {
#pragma unroll
      for (int i = 0; i < 8; ++i) value[i] -= i == target % 8 ? rows.scale : 0.0f;
    }
    store8(logits + 8 * p, value);
  }
  if (threadIdx.x == 0) {
    rows.losses[blockIdx.x] = (log2f(all.sum) + all.largest) * kLn2 - target_logit;
  }
}

// Of logits of a part of the vocabulary: `columns` of the `stride` of a row.
template <typename T>
struct PartRows {
  T* logits;
  const std::int32_t* targets;
  std::int64_t stride, columns;
  VocabularyPart part;

  __device__ T* row() const { return logits + static_cast<std::int64_t>(blockIdx.x) * stride; }
  __device__ std::int64_t target() const { return part.row_of(targets[blockIdx.x], columns); }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) part_sums_kernel(PartRows<T> rows, float* sums) {
  const T* const logits = rows.row();
  RunningSum running;
  for (std::int64_t p = threadIdx.x; 8 * p < rows.columns; p += kThreads) {
    float logit[8];
    load8(logits + 8 * p, logit);
    leave_out(logit, 8 * p, rows.columns);
    running.add(logit);
  }
  const RunningSum all = of_block(running);
  if (threadIdx.x != 0) return;
  float* const to = sums + CrossEntropySums::kFields * static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t target = rows.target();
  to[0] = all.largest * kLn2;
  to[1] = all.sum;
  to[2] = target < 0 ? 0.0f : as_float(logits[target]);
}

// Those of one row, of all ranks, in their order.
struct RowSums {
  float largest = -INFINITY, sum = 0, target_logit = 0;  // `largest` in units of ln 2

  __device__ RowSums(const float* sums, int ranks) {
    const auto of_rank = [&](int rank) {
      const std::int64_t row = static_cast<std::int64_t>(rank) * gridDim.x + blockIdx.x;
      return sums + CrossEntropySums::kFields * row;
    };
    for (int rank = 0; rank < ranks; ++rank) largest = fmaxf(largest, of_rank(rank)[0] * kLog2E);
    for (int rank = 0; rank < ranks; ++rank) {
      sum += of_rank(rank)[1] * fast_exp2(of_rank(rank)[0] * kLog2E - largest);
      target_logit += of_rank(rank)[2];
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    part_loss_kernel(PartRows<T> rows, const float* sums, int ranks, float scale, float* losses) {
  T* const logits = rows.row();
  const RowSums all(sums, ranks);
  const std::int64_t target = rows.target();
  const float offset = all.largest - log2f(scale / all.sum);
  for (std::int64_t p = threadIdx.x; 8 * p < rows.stride; p += kThreads) {
    float value[8];
    load8(logits + 8 * p, value);
    leave_out(value, 8 * p, rows.columns);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value[i] = fast_exp2(fmaf(value[i], kLog2E, -offset));
      if (8 * p + i == target) value[i] -= scale;
    }
    store8(logits + 8 * p, value);
  }
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = (log2f(all.sum) + all.largest) * kLn2 - all.target_logit;
  }
}

template <typename T>
PartRows<T> part_rows(const CrossEntropySums& o) {
  return {data<T>(o.logits), data<std::int32_t>(o.targets), o.logits.columns, o.columns, o.part};
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

void launch(const Mean& o, Stream& stream) {
  launch(mean_kernel, {1, kThreads}, stream, data<float>(o.values), o.values.count(),
         data<float>(o.mean));
}

void launch(const CrossEntropyPiece& o, std::uint64_t most_shared, Stream& stream) {
  by_type(o.logits.dtype, [&](auto element) {
    using T = decltype(element);
    const LossRows<T> rows{data<T>(o.logits),
                           data<std::int32_t>(o.targets),
                           data<float>(o.row_losses),
                           o.logits.columns,
                           o.vocabulary,
                           1.0f / static_cast<float>(o.batch_rows)};
    const std::uint64_t bytes = static_cast<std::uint64_t>(o.logits.columns) * sizeof(T);
    const auto blocks = static_cast<unsigned>(o.logits.rows);
    if (bytes + kStaticShared <= most_shared) {
      launch(loss_kernel<T, true>, {blocks, kThreads, bytes}, stream, rows);
    } else {
      launch(loss_kernel<T, false>, {blocks, kThreads}, stream, rows);
    }
  });
}

void launch(const CrossEntropySums& o, Stream& stream) {
  by_type(o.logits.dtype, [&](auto element) {
    using T = decltype(element);
    const auto blocks = static_cast<unsigned>(o.logits.rows);
    launch(part_sums_kernel<T>, {blocks, kThreads}, stream, part_rows<T>(o), data<float>(o.sums));
  });
}

void launch(const CrossEntropyOfPart& o, Stream& stream) {
  by_type(o.own.logits.dtype, [&](auto element) {
    using T = decltype(element);
    const auto blocks = static_cast<unsigned>(o.own.logits.rows);
    launch(part_loss_kernel<T>, {blocks, kThreads}, stream, part_rows<T>(o.own),
           data<float>(o.own.sums), static_cast<int>(o.ranks()),
           1.0f / static_cast<float>(o.batch_rows), data<float>(o.row_losses));
  });
}

void launch(const MeanSquaredError& o, Stream& stream) {
  by_type(o.prediction.dtype, [&](auto element) {
    using T = decltype(element);
    const float scale = 2.0f / static_cast<float>(o.prediction.count());
    launch(squared_error_kernel<T>, {static_cast<unsigned>(o.prediction.rows), kThreads}, stream,
           data<T>(o.prediction), data<T>(o.target), o.prediction.columns, scale,
           data<float>(o.row_losses));
  });
  launch(Mean{o.row_losses, o.loss}, stream);
}

}  // namespace duet::DUET_GPU
