// The backward pass of rows that come back from experts.
#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

template <typename T>
struct CombinationBackward {
  const T *x, *dy;
  const std::int32_t* places;
  const float* routing;
  T* dx;
  float* dweights;
  std::int64_t columns;
  int count, dweight_columns;  // places of a token, and its columns of dweights
};

// A block for each token, which makes one of its rows after the other.
template <typename T>
__global__ void combine_rows_backward_kernel(CombinationBackward<T> c) {
  const std::int64_t token = blockIdx.x;
  const T* const dy = c.dy + token * c.columns;
  float* const dweights = c.dweights + token * c.dweight_columns;
  for (int j = 0; j < c.dweight_columns; ++j) {
    const std::int32_t place = j < c.count ? c.places[token * c.count + j] : -1;
    float sum[1] = {0};
    if (place >= 0) {  // alike in all threads
      const float weight = c.routing[(2 * token + 1) * c.count + j];
      for (std::int64_t column = 8 * threadIdx.x; column < c.columns; column += 8 * kRowThreads) {
        float x[8], gradient[8];
        load8(c.x + place * c.columns + column, x);
        load8(dy + column, gradient);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          sum[0] += x[k] * gradient[k];
          gradient[k] *= weight;
        }
        store8(c.dx + place * c.columns + column, gradient);
      }
      group_sum<kRowThreads>(sum);
    }
    if (threadIdx.x == 0) dweights[j] = sum[0];
  }
}

constexpr int kChoiceThreads = 256;

template <typename T>
struct ChoiceBackward {
  const std::int32_t* routing;
  const float* dweights;
  T* dlogits;
  std::int64_t tokens, experts;
  int chosen;
};

// A warp for each token. Of a softmax p over the chosen ones: dlogit_j = p_j (dp_j - sum of p_i
// dp_i).
template <typename T>
__global__ void choose_experts_backward_kernel(ChoiceBackward<T> c) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * (kChoiceThreads / 32) + threadIdx.x / 32;
  if (token >= c.tokens) return;
  const std::int32_t* const choices = c.routing + 2 * token * c.chosen;
  const float* const weights = reinterpret_cast<const float*>(choices) + c.chosen;
  const float* const dweights = c.dweights + token * c.chosen;
  const float mean = warp_sum(lane < c.chosen ? weights[lane] * dweights[lane] : 0.0f);
  for (std::int64_t expert = lane; expert < c.experts; expert += 32) {
    float dlogit = 0;
    for (int j = 0; j < c.chosen; ++j) {
      if (choices[j] == expert) dlogit = weights[j] * (dweights[j] - mean);
    }
    store_one(c.dlogits + token * c.experts + expert, dlogit);
  }
}

}  // namespace

void launch(const ChooseExpertsBackward& o, Stream& stream) {
  if (o.routing.rows == 0) return;
  by_type(o.dlogits.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr std::int64_t kTokens = kChoiceThreads / 32;
    launch(choose_experts_backward_kernel<T>,
           {static_cast<unsigned>((o.routing.rows + kTokens - 1) / kTokens), kChoiceThreads},
           stream,
           ChoiceBackward<T>{data<std::int32_t>(o.routing), data<float>(o.dweights),
                             data<T>(o.dlogits), o.routing.rows, o.dlogits.columns,
                             static_cast<int>(o.chosen())});
  });
}

void launch(const CombineRowsBackward& o, Stream& stream) {
  if (o.dy.count() == 0) return;
  by_type(o.dy.dtype, [&](auto element) {
    using T = decltype(element);
    const CombinationBackward<T> combination{data<T>(o.x),
                                             data<T>(o.dy),
                                             data<std::int32_t>(o.places),
                                             data<float>(o.routing),
                                             data<T>(o.dx),
                                             data<float>(o.dweights),
                                             o.dy.columns,
                                             static_cast<int>(o.places.columns),
                                             static_cast<int>(o.dweights.columns)};
    launch(combine_rows_backward_kernel<T>, {static_cast<unsigned>(o.dy.rows), kRowThreads}, stream,
           combination);
  });
}

}  // namespace duet::DUET_GPU
