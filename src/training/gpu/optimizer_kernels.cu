// Optimizers over all parameters at once: bound by memory, so a thread takes up to 16 neighbouring
// bytes of each tensor: four elements where one of the tensors is fp32, eight where all are bf16.
// Then the threads of a warp take whole lines of each tensor.
#include <cmath>
#include <type_traits>

#include "core/random.h"
#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/fast_math.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kThreads = kRowThreads;
constexpr int kBlocksOfUnit = 4;  // at least so many at once, or registers are not enough

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

template <int count>
struct alignas(4 * count) Words {
  std::uint32_t word[count];
};

// Of memory that is touched once in a step: the cache is left to others.
__device__ inline Words<4> load_once(const Words<4>* from) {
#ifdef __CUDA_ARCH__
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
#else
  return *from;
#endif
}
__device__ inline Words<2> load_once(const Words<2>* from) {
#ifdef __CUDA_ARCH__
  const uint2 words = __ldcs(reinterpret_cast<const uint2*>(from));
  return {{words.x, words.y}};
#else
  return *from;
#endif
}

__device__ inline void store_once(Words<4>* to, const Words<4>& words) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint4*>(to),
         make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]));
#else
  *to = words;
#endif
}
__device__ inline void store_once(Words<2>* to, const Words<2>& words) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint2*>(to), make_uint2(words.word[0], words.word[1]));
#else
  *to = words;
#endif
}

template <typename T, int width>
using WordsOf = Words<static_cast<int>(width * sizeof(T) / 4)>;

template <int width>
__device__ void load(const float* from, float (&value)[width]) {
  const auto words = load_once(reinterpret_cast<const WordsOf<float, width>*>(from));
#pragma unroll
  for (int i = 0; i < width; ++i) value[i] = gpu::from_bits(words.word[i]);
}
template <int width>
__device__ void load(const Bf16* from, float (&value)[width]) {
  const auto words = load_once(reinterpret_cast<const WordsOf<Bf16, width>*>(from));
#pragma unroll
  for (int i = 0; i < width / 2; ++i) {
    value[2 * i] = gpu::from_bits(words.word[i] << 16);
    value[2 * i + 1] = gpu::from_bits(words.word[i] & 0xFFFF0000u);
  }
}

template <int width>
__device__ void store(float* to, const float (&value)[width]) {
  WordsOf<float, width> words;
#pragma unroll
  for (int i = 0; i < width; ++i) words.word[i] = gpu::float_bits(value[i]);
  store_once(reinterpret_cast<WordsOf<float, width>*>(to), words);
}
template <int width>
__device__ void store(Bf16* to, const float (&value)[width]) {
  WordsOf<Bf16, width> words;
#pragma unroll
  for (int i = 0; i < width / 2; ++i) words.word[i] = two_bf16(value[2 * i], value[2 * i + 1]);
  store_once(reinterpret_cast<WordsOf<Bf16, width>*>(to), words);
}

// Not that of the step's tokens.
__device__ std::uint64_t rounding_seed(const StepState& state) {
  return random_word(~state.seed, static_cast<std::uint64_t>(state.step));
}

// Uniform numbers of 16 bits for `width` elements from element `at` of a tensor on.
template <int width>
struct Random16 {
  std::uint64_t word[width / 4];

  __device__ Random16(std::uint64_t seed, std::int64_t at) {
#pragma unroll
    for (int i = 0; i < width / 4; ++i) {
      word[i] = random_word(seed, static_cast<std::uint64_t>(at / 4 + i));
    }
  }
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
template <int width>
__device__ void store_random(Bf16* to, const float (&value)[width], const Random16<width>& random) {
  WordsOf<Bf16, width> words;
#pragma unroll
  for (int i = 0; i < width / 2; ++i) {
    const std::uint32_t low = rounded_bits(value[2 * i], random.at(2 * i));
    const std::uint32_t high = rounded_bits(value[2 * i + 1], random.at(2 * i + 1));
    words.word[i] = (low >> 16) | (high & 0xFFFF0000u);
  }
  store_once(reinterpret_cast<WordsOf<Bf16, width>*>(to), words);
}
template <int width>
__device__ void store_random(float* to, const float (&value)[width], const Random16<width>&) {
  store(to, value);
}

// What an element's update needs of the step.
struct AdamWStep {
  float rate, inverse_root, keep, factor;  // rate: learning rate / (1 - beta1^step)
  std::uint64_t seed;
};

template <typename Update>
__device__ AdamWStep step_of(const Update& u) {
  const StepState now = *u.state;
  const float step = static_cast<float>(now.step), rate = static_cast<float>(now.learning_rate);
  return {rate / -expm1f(step * u.log_beta1), rsqrtf(-expm1f(step * u.log_beta2)),
          1.0f - rate * u.weight_decay, static_cast<float>(now.gradient_factor),
          rounding_seed(now)};
}

template <typename Parameter, typename Gradient, typename Moment, int width>
__global__ void __launch_bounds__(kThreads, kBlocksOfUnit)
    adamw_kernel(AdamWUpdate<Parameter, Gradient, Moment> u) {
  __shared__ AdamWStep step;
  const std::int64_t at = width * (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  const bool inside = at < u.count;
  float w[width], g[width], m[width], v[width];
  if (inside) {
    if (u.master != nullptr) {
      if constexpr (width == 4) load(u.master + at, w);
    } else {
      load(u.parameters + at, w);
    }
    load(u.gradients + at, g);
    load(u.first_moments + at, m);
    load(u.second_moments + at, v);
  }
  if (threadIdx.x == 0) step = step_of(u);  // while the loads are on their way
  __syncthreads();
  if (!inside) return;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const float gradient = step.factor * g[i];
    m[i] = u.beta1 * m[i] + (1.0f - u.beta1) * gradient;
    v[i] = u.beta2 * v[i] + (1.0f - u.beta2) * gradient * gradient;
    const float deviation = fast_sqrt(v[i]) * step.inverse_root + u.eps;
    w[i] = step.keep * w[i] - __fdividef(step.rate * m[i], deviation);
  }
  // One number for all of an element: each result by itself keeps its mean.
  const Random16<width> random(step.seed, u.first + at);
  store_random(u.first_moments + at, m, random);
  store_random(u.second_moments + at, v, random);
  if (u.master == nullptr) return store_random(u.parameters + at, w, random);
  if constexpr (width == 4) store(u.master + at, w);
  store(u.parameters + at, w);
}

template <typename Parameter, typename Gradient, int width>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(const StepState* state, Parameter* parameters, const Gradient* gradients,
               float* master, std::int64_t count, std::int64_t first) {
  const std::int64_t at = width * (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  if (at >= count) return;
  float w[width], g[width];
  if (master != nullptr) {
    if constexpr (width == 4) load(master + at, w);
  } else {
    load(parameters + at, w);
  }
  load(gradients + at, g);
  const StepState now = *state;
  const float rate = static_cast<float>(now.learning_rate * now.gradient_factor);
#pragma unroll
  for (int i = 0; i < width; ++i) w[i] -= rate * g[i];
  if (master != nullptr) {
    if constexpr (width == 4) store(master + at, w);
    store(parameters + at, w);
  } else {
    store_random(parameters + at, w, Random16<width>(rounding_seed(now), first + at));
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

// Calls launch(width) with how many elements a thread takes of tensors of these types.
template <typename... Elements, typename Launch>
void by_width(const Tensor& master, const Launch& launch) {
  if constexpr ((std::is_same_v<Elements, Bf16> && ...)) {
    if (master.count() == 0) return launch(std::integral_constant<int, 8>{});
  }
  launch(std::integral_constant<int, 4>{});
}

LaunchShape shape_of(const Tensor& parameters, int width) {
  const std::int64_t of_block = static_cast<std::int64_t>(width) * kThreads;
  return {static_cast<unsigned>((parameters.count() + of_block - 1) / of_block), kThreads};
}

}  // namespace

void launch(const SumOfSquares& o, float* partials, int blocks, Stream& stream) {
  float* to = partials;
  for (const Tensor& each : o.gradients) {
    by_type(each.dtype, [&](auto element) {
      using G = decltype(element);
      launch(squares_kernel<G>, {static_cast<unsigned>(blocks), kThreads}, stream, data<G>(each),
             each.count(), to);
    });
    to += blocks;
  }
  launch(partials_kernel, {1, kThreads}, stream, partials, static_cast<int>(to - partials),
         data<float>(o.sum));
}

void launch(const Clip& o, Stream& stream) {
  launch(clip_kernel, {1, 1}, stream, reinterpret_cast<StepState*>(o.state.data),
         data<float>(o.squares), o.scale, o.limit, data<float>(o.norm));
}

void launch(const Sgd& o, Stream& stream) {
  by_type(o.tensors.parameters.dtype, [&](auto parameter) {
    by_type(o.tensors.gradients.dtype, [&](auto gradient) {
      using P = decltype(parameter);
      using G = decltype(gradient);
      by_width<P, G>(o.tensors.master, [&](auto width) {
        launch(sgd_kernel<P, G, width>, shape_of(o.tensors.parameters, width), stream,
               reinterpret_cast<const StepState*>(o.state.data), data<P>(o.tensors.parameters),
               data<G>(o.tensors.gradients), data<float>(o.tensors.master),
               o.tensors.parameters.count(), o.tensors.first);
      });
    });
  });
}

void launch(const AdamW& o, Stream& stream) {
  const auto number = [](double value) { return static_cast<float>(value); };
  by_type(o.tensors.parameters.dtype, [&](auto parameter) {
    by_type(o.tensors.gradients.dtype, [&](auto gradient) {
      by_type(o.tensors.first_moments.dtype, [&](auto moment) {
        using P = decltype(parameter);
        using G = decltype(gradient);
        using M = decltype(moment);
        const AdamWUpdate<P, G, M> update{reinterpret_cast<const StepState*>(o.state.data),
                                          data<P>(o.tensors.parameters),
                                          data<G>(o.tensors.gradients),
                                          data<M>(o.tensors.first_moments),
                                          data<M>(o.tensors.second_moments),
                                          data<float>(o.tensors.master),
                                          o.tensors.parameters.count(),
                                          o.tensors.first,
                                          number(o.options.beta1),
                                          number(o.options.beta2),
                                          number(o.options.eps),
                                          number(o.options.weight_decay),
                                          number(std::log(o.options.beta1)),
                                          number(std::log(o.options.beta2))};
        by_width<P, G, M>(o.tensors.master, [&](auto width) {
          launch(adamw_kernel<P, G, M, width>, shape_of(o.tensors.parameters, width), stream,
                 update);
        });
      });
    });
  });
}

}  // namespace duet::DUET_GPU
