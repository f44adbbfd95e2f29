// LayerNorm, and RMSNorm, which is LayerNorm without mean and bias. A row is shared by 32 threads
// up to a block's, the more the wider it is; a thread keeps its part of the row in registers, so
// that the row is read once.
#include <algorithm>

#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/column_sums.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"
#include "training/operations/norm_eps.h"

namespace duet::DUET_GPU {
namespace {

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
struct NormForwardRows {
  const T *x, *weight, *bias;
  T* y;
  float *mean, *inverse;  // inverse deviation or inverse rms
  std::int64_t rows, columns;
};

// `centred`: LayerNorm; otherwise RMSNorm.
template <typename T, bool centred, int lanes, int packs>
__global__ void __launch_bounds__(kRowThreads) norm_kernel(NormForwardRows<T> n) {
  const Place<lanes> my;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kRowThreads / lanes) + my.group;
  const bool inside = row < n.rows;  // groups after the last row take part in the sums
  const float scale = 1.0f / static_cast<float>(n.columns);
  float x[packs][8] = {};
  float sum[1] = {};
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (inside && my.column(p) < n.columns) load8(n.x + row * n.columns + my.column(p), x[p]);
  }
  float mean = 0;
  if constexpr (centred) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[0] += x[p][i];
    }
    group_sum<lanes>(sum);
    mean = sum[0] * scale;
    sum[0] = 0;
  }
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (my.column(p) >= n.columns) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[0] += (x[p][i] - mean) * (x[p][i] - mean);
  }
  group_sum<lanes>(sum);
  const float inverse =
      rsqrtf(sum[0] * scale + static_cast<float>(centred ? kLayerNormEps : kRmsNormEps));
  if (!inside) return;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    if (my.column(p) >= n.columns) continue;
    float weight[8], bias[8] = {};
    load8(n.weight + my.column(p), weight);
    if constexpr (centred) load8(n.bias + my.column(p), bias);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[p][i] = (x[p][i] - mean) * inverse * weight[i] + bias[i];
    store8(n.y + row * n.columns + my.column(p), x[p]);
  }
  if (my.lane == 0) {
    if constexpr (centred) n.mean[row] = mean;
    n.inverse[row] = inverse;
  }
}

template <typename T>
struct NormBackwardRows {
  const T *x, *weight, *dy;
  T* dx;
  const float *mean, *inverse;  // inverse deviation or inverse rms
  float* partials;              // of each block: the sums of dy * normed, then, if centred, of dy
  std::int64_t rows, columns;
  bool add;  // to dx
};

// Whether a row is loaded while the one before it is computed: where a thread keeps more columns,
// their registers leave no room.
template <int packs>
constexpr bool kPrefetches = packs <= 2;

// A thread's part of a row, of zeros after the last.
template <typename T, int packs>
struct NormRow {
  Packed8<T> x[packs], dy[packs], dx[packs];  // dx: what is added to
  float mean, inverse;

  template <bool centred, int lanes>
  __device__ void load(const NormBackwardRows<T>& n, const Place<lanes>& my, std::int64_t row) {
    const bool inside = row < n.rows;
    mean = centred && inside ? n.mean[row] : 0;
    inverse = inside ? n.inverse[row] : 0;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      x[p] = dy[p] = dx[p] = {};
      if (!inside || my.column(p) >= n.columns) continue;
      const std::int64_t at = row * n.columns + my.column(p);
      x[p] = load_packed(n.x + at);
      dy[p] = load_packed(n.dy + at);
      if (n.add) dx[p] = load_packed(n.dx + at);
    }
  }
};

// With g = dy * weight and n = the normed x: dx = (g - mean(g) - n * mean(g * n)) * inverse, of
// RMSNorm without mean(g).
template <typename T, bool centred, int lanes, int packs>
__global__ void __launch_bounds__(kRowThreads, packs <= 4 ? 2 : 1)
    norm_backward_kernel(NormBackwardRows<T> n) {
  constexpr int kGroups = kRowThreads / lanes;
  const Place<lanes> my;
  const float scale = 1.0f / static_cast<float>(n.columns);
  float dweight[packs][8] = {}, dbias[centred ? packs : 1][8] = {};
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kGroups;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kGroups;
  NormRow<T, packs> next;
  if constexpr (kPrefetches<packs>) next.template load<centred>(n, my, first_row + my.group);
  // All groups of a block go on together. One after the last row computes with zeros.
  for (std::int64_t first = first_row; first < n.rows; first += stride) {
    const std::int64_t row = first + my.group, begin = row * n.columns;
    const bool inside = row < n.rows;
    NormRow<T, packs> now;
    if constexpr (kPrefetches<packs>) {
      now = next;
      next.template load<centred>(n, my, row + stride);
    } else {
      now.template load<centred>(n, my, row);
    }
    const float mean = now.mean, inverse = now.inverse;
    float sums[centred ? 2 : 1] = {};  // of g * n, and of g
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (!inside || my.column(p) >= n.columns) continue;
      float x[8], dy[8], weight[8];
      unpack(now.x[p], x);
      unpack(now.dy[p], dy);
      load8(n.weight + my.column(p), weight);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float normed = (x[i] - mean) * inverse;
        sums[0] += dy[i] * weight[i] * normed;
        dweight[p][i] += dy[i] * normed;
        if constexpr (centred) {
          sums[1] += dy[i] * weight[i];
          dbias[p][i] += dy[i];
        }
      }
    }
    group_sum<lanes>(sums);
    const float mean_gn = sums[0] * scale, mean_g = centred ? sums[centred ? 1 : 0] * scale : 0;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      if (!inside || my.column(p) >= n.columns) continue;
      float x[8], dy[8], weight[8], dx[8];
      unpack(now.x[p], x);
      unpack(now.dy[p], dy);
      load8(n.weight + my.column(p), weight);
      unpack(now.dx[p], dx);  // zeros, unless it adds
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float normed = (x[i] - mean) * inverse;
        dx[i] += inverse * (dy[i] * weight[i] - mean_g - normed * mean_gn);
      }
      store8(n.dx + begin + my.column(p), dx);
    }
  }
  constexpr int kSums = centred ? 2 : 1;
  float* const own = n.partials + static_cast<std::int64_t>(blockIdx.x) * kSums * n.columns;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::int64_t first = static_cast<std::int64_t>(8 * lanes) * p;
    write_group_sums<lanes, kGroups>(dweight[p], own + first, n.columns - first);
    if constexpr (centred) {
      write_group_sums<lanes, kGroups>(dbias[p], own + n.columns + first, n.columns - first);
    }
  }
}

// Calls launch.run<lanes, packs>() with how the threads share a row of so many columns: what was
// fastest on an H200 for rows whose columns fill the packs.
template <typename Launch>
void forward_by_columns(std::int64_t columns, const Launch& launch) {
  const std::int64_t narrow = (columns + 255) / 256, wide = (columns + 2047) / 2048;
  if (narrow <= 1) return launch.template run<32, 1>();
  if (narrow <= 2) return launch.template run<32, 2>();
  if (narrow <= 3) return launch.template run<32, 3>();
  if (narrow <= 4) return launch.template run<32, 4>();
  if (narrow <= 6) return launch.template run<64, 3>();
  if (narrow <= 12) return launch.template run<128, 3>();
  if (wide <= 2) return launch.template run<kRowThreads, 2>();
  if (wide <= 3) return launch.template run<kRowThreads, 3>();
  launch.template run<kRowThreads, 8>();
}

// Likewise of a backward pass.
template <typename Launch>
void backward_by_columns(std::int64_t columns, const Launch& launch) {
  const std::int64_t narrow = (columns + 255) / 256, wide = (columns + 2047) / 2048;
  if (narrow <= 1) return launch.template run<32, 1>();
  if (narrow <= 2) return launch.template run<32, 2>();
  if (narrow <= 3) return launch.template run<32, 3>();
  if (narrow <= 4) return launch.template run<128, 1>();
  if (wide <= 1) return launch.template run<kRowThreads, 1>();
  if (wide <= 2) return launch.template run<kRowThreads, 2>();
  if (wide <= 3) return launch.template run<kRowThreads, 3>();
  launch.template run<kRowThreads, 8>();
}

template <typename T, bool centred>
struct ForwardLaunch {
  NormForwardRows<T> norm;
  Stream& stream;

  template <int lanes, int packs>
  void run() const {
    constexpr int kGroups = kRowThreads / lanes;
    const auto blocks = static_cast<unsigned>((norm.rows + kGroups - 1) / kGroups);
    launch(norm_kernel<T, centred, lanes, packs>, {blocks, kRowThreads}, stream, norm);
  }
};

template <typename T, bool centred>
struct BackwardLaunch {
  NormBackwardRows<T> norm;
  int blocks;
  Stream& stream;

  template <int lanes, int packs>
  void run() const {
    launch(norm_backward_kernel<T, centred, lanes, packs>,
           {static_cast<unsigned>(blocks), kRowThreads}, stream, norm);
  }
};

}  // namespace

void launch(const Norm& o, Stream& stream) {
  const NormTensors& norm = o.norm;
  by_type(o.y.dtype, [&](auto element) {
    using T = decltype(element);
    const NormForwardRows<T> forward{
        data<T>(norm.x),        data<T>(norm.weight),      data<T>(norm.bias), data<T>(o.y),
        data<float>(norm.mean), data<float>(norm.inverse), o.y.rows,           o.y.columns};
    if (norm.centred()) {
      return forward_by_columns(o.y.columns, ForwardLaunch<T, true>{forward, stream});
    }
    forward_by_columns(o.y.columns, ForwardLaunch<T, false>{forward, stream});
  });
}

void launch(const NormBackward& o, float* partials, int blocks, Stream& stream) {
  const NormTensors& norm = o.norm;
  by_type(o.dy.dtype, [&](auto element) {
    using T = decltype(element);
    const NormBackwardRows<T> backward{
        data<T>(norm.x),        data<T>(norm.weight),           data<T>(o.dy), data<T>(o.dx),
        data<float>(norm.mean), data<float>(norm.inverse),      partials,      o.dy.rows,
        o.dy.columns,           o.accumulate == Accumulate::yes};
    if (norm.centred()) {
      return backward_by_columns(o.dy.columns, BackwardLaunch<T, true>{backward, blocks, stream});
    }
    backward_by_columns(o.dy.columns, BackwardLaunch<T, false>{backward, blocks, stream});
  });
  if (norm.weight_gradient.count() == 0) return;
  launch_column_sums(partials, blocks, norm.weight_gradient, norm.bias_gradient, o.gradients,
                     stream);
}

}  // namespace duet::DUET_GPU
