// LayerNorm. A row is shared by 32 threads up to 1,024 columns, and by a block beyond; a thread
// keeps its part of the row in registers, so that the row is read once.
#include <algorithm>

#include "training/gpu/element8.h"
#include "training/gpu/group_sum.h"
#include "training/gpu/kernels.h"
#include "training/gpu/launch.h"

namespace duet::DUET_GPU {
namespace {

constexpr float kEps = 1e-5f;  // PyTorch's default
constexpr int kReducedColumns = 32;
constexpr int kReductionThreads = 1024;

// A thread's place in its row: packs of eight columns, `lanes` packs apart.
template <int lanes>
struct Place {
  int lane = static_cast<int>(threadIdx.x) % lanes;
  int group = static_cast<int>(threadIdx.x) / lanes;

  __device__ std::int64_t column(int pack) const {
    return 8 * (static_cast<std::int64_t>(pack) * lanes + lane);
  }
};

template <typename T>
struct NormForward {
  const T *x, *weight, *bias;
  T* y;
  float *mean, *inverse_deviation;
  std::int64_t rows, columns;
};

template <typename T, int lanes, int packs>
__global__ void __launch_bounds__(kRowThreads) norm_kernel(NormForward<T> n) {
  const Place<lanes> my;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kRowThreads / lanes) + my.group;
  if (row >= n.rows) return;
  const float scale = 1.0f / static_cast<float>(n.columns);
  float x[packs][8] = {};
  float sum[1] = {};
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (my.column(p) < n.columns) load8(n.x + row * n.columns + my.column(p), x[p]);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[0] += x[p][i];
  }
  group_sum<lanes>(sum);
  const float mean = sum[0] * scale;
  sum[0] = 0;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (my.column(p) >= n.columns) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[0] += (x[p][i] - mean) * (x[p][i] - mean);
  }
  group_sum<lanes>(sum);
  const float inverse = rsqrtf(sum[0] * scale + kEps);
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (my.column(p) >= n.columns) continue;
    float weight[8], bias[8];
    load8(n.weight + my.column(p), weight);
    load8(n.bias + my.column(p), bias);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[p][i] = (x[p][i] - mean) * inverse * weight[i] + bias[i];
    store8(n.y + row * n.columns + my.column(p), x[p]);
  }
  if (my.lane == 0) {
    n.mean[row] = mean;
    n.inverse_deviation[row] = inverse;
  }
}

template <typename T>
struct NormBackward {
  const T *x, *weight, *dy;
  T* dx;
  const float *mean, *inverse_deviation;
  float* partials;  // of each block: the sums of dy * normed, then of dy
  std::int64_t rows, columns;
  bool add;  // to dx
};

// Of a block of the backward pass, of which a unit has two. Two wide rows at once hide the waiting
// of one; where a thread keeps more columns, their registers leave no room.
template <int lanes, int packs>
constexpr int kBackwardThreads = lanes == kRowThreads&& packs == 1 ? 2 * kRowThreads : kRowThreads;

// Writes the sums over a block's groups of the eight columns of a pack.
template <int lanes, int groups>
__device__ void write_partials(const Place<lanes>& my, int pack, const float (&value)[8], float* to,
                               std::int64_t columns) {
  if constexpr (groups == 1) {
    if (my.column(pack) < columns) store8(to + my.column(pack), value);
  } else {
    __shared__ float values[groups][8 * lanes];
    __syncthreads();  // the values of the call before have been read
    store8(&values[my.group][8 * my.lane], value);
    __syncthreads();
    const std::int64_t first = static_cast<std::int64_t>(8 * lanes) * pack;
    for (int k = static_cast<int>(threadIdx.x); k < 8 * lanes; k += groups * lanes) {
      float sum = 0;
      for (int g = 0; g < groups; ++g) sum += values[g][k];
      if (first + k < columns) to[first + k] = sum;
    }
  }
}

// With g = dy * weight and n = the normed x: dx = (g - mean(g) - n * mean(g * n)) / deviation.
template <typename T, int lanes, int packs>
__global__ void __launch_bounds__((kBackwardThreads<lanes, packs>), packs <= 4 ? 2 : 1)
    norm_backward_kernel(NormBackward<T> n) {
  constexpr int kThreads = kBackwardThreads<lanes, packs>, kGroups = kThreads / lanes;
  const Place<lanes> my;
  const float scale = 1.0f / static_cast<float>(n.columns);
  float dweight[packs][8] = {}, dbias[packs][8] = {};
  // All groups of a block go on together. One behind the last row computes with zeros.
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kGroups; first < n.rows;
       first += static_cast<std::int64_t>(gridDim.x) * kGroups) {
    const std::int64_t row = first + my.group, begin = row * n.columns;
    const bool inside = row < n.rows;
    const float mean = inside ? n.mean[row] : 0, inverse = inside ? n.inverse_deviation[row] : 0;
    Packed8<T> x_packed[packs] = {}, dy_packed[packs] = {}, dx_packed[packs] = {};
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (!inside || my.column(p) >= n.columns) continue;
      x_packed[p] = load_packed(n.x + begin + my.column(p));
      dy_packed[p] = load_packed(n.dy + begin + my.column(p));
      if (n.add) dx_packed[p] = load_packed(n.dx + begin + my.column(p));
    }
    float sums[2] = {};
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (!inside || my.column(p) >= n.columns) continue;
      float x[8], dy[8], weight[8];
      unpack(x_packed[p], x);
      unpack(dy_packed[p], dy);
      load8(n.weight + my.column(p), weight);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float normed = (x[i] - mean) * inverse;
        sums[0] += dy[i] * weight[i];
        sums[1] += dy[i] * weight[i] * normed;
        dweight[p][i] += dy[i] * normed;
        dbias[p][i] += dy[i];
      }
    }
    group_sum<lanes, kThreads>(sums);
    const float mean_g = sums[0] * scale, mean_gn = sums[1] * scale;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (!inside || my.column(p) >= n.columns) continue;
      float x[8], dy[8], weight[8], dx[8];
      unpack(x_packed[p], x);
      unpack(dy_packed[p], dy);
      load8(n.weight + my.column(p), weight);
      unpack(dx_packed[p], dx);  // zeros, unless it adds
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float normed = (x[i] - mean) * inverse;
        dx[i] += inverse * (dy[i] * weight[i] - mean_g - normed * mean_gn);
      }
      store8(n.dx + begin + my.column(p), dx);
    }
  }
  float* const own = n.partials + static_cast<std::int64_t>(blockIdx.x) * 2 * n.columns;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    write_partials<lanes, kGroups>(my, p, dweight[p], own, n.columns);
    write_partials<lanes, kGroups>(my, p, dbias[p], own + n.columns, n.columns);
  }
}

template <typename T>
struct NormReduction {
  const float* partials;
  T *dweight, *dbias;
  std::int64_t columns;
  int blocks;
  bool add;
};

// Sums the blocks' partials; a column of threads divides the blocks among it.
template <typename T>
__global__ void __launch_bounds__(kReductionThreads) norm_reduction_kernel(NormReduction<T> r) {
  constexpr int kParts = kReductionThreads / kReducedColumns;
  __shared__ float sums[kParts][kReducedColumns];
  const int lane = threadIdx.x % kReducedColumns, part = threadIdx.x / kReducedColumns;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kReducedColumns + lane;
  float sum = 0;
  if (column < 2 * r.columns) {
#pragma unroll 4
    for (int b = part; b < r.blocks; b += kParts) sum += r.partials[b * 2 * r.columns + column];
  }
  sums[part][lane] = sum;
  __syncthreads();
  if (part > 0 || column >= 2 * r.columns) return;
  for (int p = 1; p < kParts; ++p) sum += sums[p][lane];
  T* const to = column < r.columns ? r.dweight + column : r.dbias + (column - r.columns);
  store_one(to, sum + (r.add ? as_float(*to) : 0.0f));
}

// Calls launch.run<lanes, packs>() with how the threads share a row of so many columns.
template <typename Launch>
void by_columns(std::int64_t columns, const Launch& launch) {
  const std::int64_t narrow = (columns + 255) / 256, wide = (columns + 2047) / 2048;
  if (narrow <= 1) return launch.template run<32, 1>();
  if (narrow <= 2) return launch.template run<32, 2>();
  if (narrow <= 3) return launch.template run<32, 3>();
  if (narrow <= 4) return launch.template run<32, 4>();
  if (wide <= 1) return launch.template run<kRowThreads, 1>();
  if (wide <= 2) return launch.template run<kRowThreads, 2>();
  if (wide <= 3) return launch.template run<kRowThreads, 3>();
  launch.template run<kRowThreads, 8>();
}

template <typename T>
struct ForwardLaunch {
  NormForward<T> norm;
  Stream& stream;

  template <int lanes, int packs>
  void run() const {
    constexpr int kGroups = kRowThreads / lanes;
    const auto blocks = static_cast<unsigned>((norm.rows + kGroups - 1) / kGroups);
    launch(norm_kernel<T, lanes, packs>, {blocks, kRowThreads}, stream, norm);
  }
};

template <typename T>
struct BackwardLaunch {
  NormBackward<T> norm;
  int blocks;
  Stream& stream;

  template <int lanes, int packs>
  void run() const {
    launch(norm_backward_kernel<T, lanes, packs>,
           {static_cast<unsigned>(blocks), kBackwardThreads<lanes, packs>}, stream, norm);
  }
};

}  // namespace

void launch_layer_norm(const NormTensors& norm, const Tensor& y, Stream& stream) {
  by_type(y.dtype, [&](auto element) {
    using T = decltype(element);
    const NormForward<T> forward{data<T>(norm.x),
                                 data<T>(norm.weight),
                                 data<T>(norm.bias),
                                 data<T>(y),
                                 data<float>(norm.mean),
                                 data<float>(norm.inverse_deviation),
                                 y.rows,
                                 y.columns};
    by_columns(y.columns, ForwardLaunch<T>{forward, stream});
  });
}

void launch_layer_norm_backward(const NormTensors& norm, const Tensor& dy, const Tensor& dx,
                                Accumulate accumulate, Accumulate gradients, float* partials,
                                int blocks, Stream& stream) {
  by_type(dy.dtype, [&](auto element) {
    using T = decltype(element);
    const NormBackward<T> backward{data<T>(norm.x),
                                   data<T>(norm.weight),
                                   data<T>(dy),
                                   data<T>(dx),
                                   data<float>(norm.mean),
                                   data<float>(norm.inverse_deviation),
                                   partials,
                                   dy.rows,
                                   dy.columns,
                                   accumulate == Accumulate::yes};
    by_columns(dy.columns, BackwardLaunch<T>{backward, blocks, stream});
  });
  by_type(norm.weight_gradient.dtype, [&](auto element) {
    using T = decltype(element);
    const NormReduction<T> reduction{
        partials, data<T>(norm.weight_gradient), data<T>(norm.bias_gradient), dy.columns,
        blocks,   gradients == Accumulate::yes};
    const auto grid =
        static_cast<unsigned>((2 * dy.columns + kReducedColumns - 1) / kReducedColumns);
    launch(norm_reduction_kernel<T>, {grid, kReductionThreads}, stream, reduction);
  });
}

}  // namespace duet::DUET_GPU
