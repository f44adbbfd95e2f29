// Optimizers over all parameters at once: bound by memory, so a thread takes eight elements of each
// tensor at a time.
#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "training/gpu/element8.h"
#include "training/gpu/group_sum.h"
#include "training/gpu/kernels.h"
#include "training/gpu/launch.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = kRowThreads;
constexpr int kAdamWThreads = 512;
constexpr std::int64_t kMostBlocks = 8192;

template <typename Parameter, typename Gradient, typename Moment>
struct AdamWUpdate {
  const StepState* state;
  Parameter* parameters;
  const Gradient* gradients;
  Moment *first_moments, *second_moments;
  float* master;  // nullptr: the parameters themselves
  std::int64_t count, first;
  float beta1, beta2, eps, weight_decay;
  float log_beta1, log_beta2;
};

// Not that of the step's tokens.
__device__ std::uint64_t rounding_seed(const StepState& state) {
  return random_word(~state.seed, static_cast<std::uint64_t>(state.step));
}

// Eight uniform numbers of 16 bits.
struct Random16 {
  std::uint64_t word[2];

  __device__ Random16(std::uint64_t seed, std::uint64_t index)
      : word{random_word(seed, 2 * index), random_word(seed, 2 * index + 1)} {}
  __device__ std::uint32_t at(int i) const {
    return static_cast<std::uint32_t>(word[i / 4] >> (16 * (i % 4))) & 0xFFFF;
  }
};

__device__ std::uint32_t rounded_bits(float value, std::uint32_t random) {
  const std::uint32_t bits = gpu::float_bits(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC00000;  // NaN
  return bits + random;
}

// Rounded up with the probability of what is cut off, so that the mean is the value.
__device__ void store8_random(Bf16* to, const float (&value)[8], const Random16& random) {
  Packed8<Bf16> packed;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t low = rounded_bits(value[2 * i], random.at(2 * i));
    const std::uint32_t high = rounded_bits(value[2 * i + 1], random.at(2 * i + 1));
    packed.part[0].word[i] = (low >> 16) | (high & 0xFFFF0000u);
  }
  store_packed_once(to, packed);
}
__device__ void store8_random(float* to, const float (&value)[8], const Random16&) {
  store8_once(to, value);
}

template <typename Parameter, typename Gradient, typename Moment>
__global__ void __launch_bounds__(kAdamWThreads)
    adamw_kernel(AdamWUpdate<Parameter, Gradient, Moment> u) {
  const StepState now = *u.state;
  const float step = static_cast<float>(now.step);
  const float rate = static_cast<float>(now.learning_rate);
  const float step_rate = rate / -expm1f(step * u.log_beta1);  // 1 - beta^step
  const float inverse_root = rsqrtf(-expm1f(step * u.log_beta2));
  const float keep = 1.0f - rate * u.weight_decay;
  const float factor = static_cast<float>(now.gradient_factor);
  const std::uint64_t seed = rounding_seed(now);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kAdamWThreads;
  for (std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kAdamWThreads + threadIdx.x;
       8 * pack < u.count; pack += stride) {
    float w[8], g[8], m[8], v[8];
    if (u.master != nullptr) {
      load8_once(u.master + 8 * pack, w);
    } else {
      load8_once(u.parameters + 8 * pack, w);
    }
    load8_once(u.gradients + 8 * pack, g);
    load8_once(u.first_moments + 8 * pack, m);
    load8_once(u.second_moments + 8 * pack, v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float gradient = factor * g[i];
      m[i] = u.beta1 * m[i] + (1.0f - u.beta1) * gradient;
      v[i] = u.beta2 * v[i] + (1.0f - u.beta2) * gradient * gradient;
      w[i] = keep * w[i] - step_rate * m[i] / (sqrtf(v[i]) * inverse_root + u.eps);
    }
    // One number for all of an element: each result by itself keeps its mean.
    const Random16 random(seed, static_cast<std::uint64_t>(u.first / 8 + pack));
    store8_random(u.first_moments + 8 * pack, m, random);
    store8_random(u.second_moments + 8 * pack, v, random);
    if (u.master != nullptr) {
      store8_once(u.master + 8 * pack, w);
      store8_once(u.parameters + 8 * pack, w);
    } else {
      store8_random(u.parameters + 8 * pack, w, random);
    }
  }
}

template <typename Parameter, typename Gradient>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(const StepState* state, Parameter* parameters, const Gradient* gradients,
               float* master, std::int64_t count, std::int64_t first) {
  const StepState now = *state;
  const float rate = static_cast<float>(now.learning_rate * now.gradient_factor);
  const std::uint64_t seed = rounding_seed(now);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       8 * pack < count; pack += stride) {
    float w[8], g[8];
    if (master != nullptr) {
      load8_once(master + 8 * pack, w);
    } else {
      load8_once(parameters + 8 * pack, w);
    }
    load8_once(gradients + 8 * pack, g);
#pragma unroll
    for (int i = 0; i < 8; ++i) w[i] -= rate * g[i];
    if (master != nullptr) {
      store8_once(master + 8 * pack, w);
      store8_once(parameters + 8 * pack, w);
    } else {
      store8_random(parameters + 8 * pack, w,
                    Random16(seed, static_cast<std::uint64_t>(first / 8 + pack)));
    }
  }
}

template <typename Gradient>
__global__ void __launch_bounds__(kThreads)
    squares_kernel(const Gradient* gradients, std::int64_t count, float* partials) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  float sum[1] = {};
  for (std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       8 * pack < count; pack += stride) {
    float g[8];
    load8(gradients + 8 * pack, g);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[0] += g[i] * g[i];
  }
  group_sum<kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum[0];
}

__global__ void __launch_bounds__(kThreads)
    partials_kernel(const float* partials, int count, float* to) {
  float sum[1] = {};
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum[0] += partials[i];
  group_sum<kThreads>(sum);
  if (threadIdx.x == 0) *to = sum[0];
}

__global__ void clip_kernel(StepState* state, const float* squares, double scale, double limit,
                            float* norm) {
  const double length = scale * sqrt(static_cast<double>(*squares));
  *norm = static_cast<float>(length);
  state->gradient_factor = length > limit ? scale * (limit / length) : scale;
}

unsigned grid_for(const Tensor& parameters, int threads) {
  const std::int64_t blocks = (parameters.count() / 8 + threads - 1) / threads;
  return static_cast<unsigned>(std::min(blocks, kMostBlocks));
}

}  // namespace

void launch_sum_of_squares(const std::vector<Tensor>& gradients, const Tensor& sum, float* partials,
                           int blocks, Stream& stream) {
  float* to = partials;
  for (const Tensor& each : gradients) {
    by_type(each.dtype, [&](auto element) {
      using G = decltype(element);
      launch(squares_kernel<G>, {static_cast<unsigned>(blocks), kThreads}, stream, data<G>(each),
             each.count(), to);
    });
    to += blocks;
  }
  launch(partials_kernel, {1, kThreads}, stream, partials, static_cast<int>(to - partials),
         data<float>(sum));
}

void launch_clip(const Span& state, const Tensor& squares, double scale, double limit,
                 const Tensor& norm, Stream& stream) {
  launch(clip_kernel, {1, 1}, stream, reinterpret_cast<StepState*>(state.data),
         data<float>(squares), scale, limit, data<float>(norm));
}

void launch_sgd(const Span& state, const OptimizerTensors& tensors, Stream& stream) {
  by_type(tensors.parameters.dtype, [&](auto parameter) {
    by_type(tensors.gradients.dtype, [&](auto gradient) {
      using P = decltype(parameter);
      using G = decltype(gradient);
      launch(sgd_kernel<P, G>, {grid_for(tensors.parameters, kThreads), kThreads}, stream,
             reinterpret_cast<const StepState*>(state.data), data<P>(tensors.parameters),
             data<G>(tensors.gradients), data<float>(tensors.master), tensors.parameters.count(),
             tensors.first);
    });
  });
}

void launch_adamw(const AdamWOptions& options, const Span& state, const OptimizerTensors& tensors,
                  Stream& stream) {
  const auto number = [](double value) { return static_cast<float>(value); };
  by_type(tensors.parameters.dtype, [&](auto parameter) {
    by_type(tensors.gradients.dtype, [&](auto gradient) {
      by_type(tensors.first_moments.dtype, [&](auto moment) {
        using P = decltype(parameter);
        using G = decltype(gradient);
        using M = decltype(moment);
        const AdamWUpdate<P, G, M> update{reinterpret_cast<const StepState*>(state.data),
                                          data<P>(tensors.parameters),
                                          data<G>(tensors.gradients),
                                          data<M>(tensors.first_moments),
                                          data<M>(tensors.second_moments),
                                          data<float>(tensors.master),
                                          tensors.parameters.count(),
                                          tensors.first,
                                          number(options.beta1),
                                          number(options.beta2),
                                          number(options.eps),
                                          number(options.weight_decay),
                                          number(std::log(options.beta1)),
                                          number(std::log(options.beta2))};
        launch(adamw_kernel<P, G, M>, {grid_for(tensors.parameters, kAdamWThreads), kAdamWThreads},
               stream, update);
      });
    });
  });
}

}  // namespace duet::DUET_GPU
