// The norm and the rotation of the heads of q and k. A block takes a token and computes its angles
// once; a few threads share a head, each with eight neighbouring pairs, and so a head is read once.
#include <cmath>
#include <type_traits>

#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/column_sums.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr float kHeadNormEps = 1e-6f;
constexpr int kThreads = 128;
constexpr int kPairs = static_cast<int>(kWidestHead) / 2;  // of a head at most

// The share of a turn by which each pair is rotated from one position to the next, times 2^64. Its
// product with a position, modulo 2^64, is the angle without what is lost of a large angle in fp32.
struct Turns {
  std::uint64_t per_position[kPairs];
};

Turns turns_of(std::int64_t head_dim, double theta) {
  constexpr double kTurn = 6.283185307179586476925;  // 2 pi
  Turns turns{};
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double share = std::pow(theta, exponent) / kTurn;
    turns.per_position[i] = static_cast<std::uint64_t>(std::ldexp(share - std::floor(share), 64));
  }
  return turns;
}

template <typename T>
struct Rotary {
  const T *qkv, *q_weight, *k_weight;
  T* rotated;
  float* inverse_rms;
  // Of the backward pass. `partials`, of each block: the sums of the gradients of both weights.
  const T* drotated;
  T* dqkv;
  float* partials;
  std::int64_t rows, tokens;
  int heads, key_heads, head_dim;
  Turns turns;

  __device__ int all_heads() const { return heads + 2 * key_heads; }
  __device__ bool is_rotated(int head) const { return head < heads + key_heads; }
  __device__ std::int64_t inverse_at(std::int64_t row, int head) const {
    return row * (heads + key_heads) + head;
  }
  __device__ const T* weight_of(int head) const { return head < heads ? q_weight : k_weight; }
};

// A thread's place in a head, of which it has eight columns from `column` on, and as many half a
// head further. `lanes` threads share a head.
template <int lanes>
struct HeadPlace {
  int group = static_cast<int>(threadIdx.x) / lanes;
  int column = static_cast<int>(threadIdx.x) % lanes * 8;
};

// The cosines and sines of one position, in shared memory.
struct alignas(16) BlockAngles {
  float cosine[kPairs], sine[kPairs];

  // All threads call it together.
  __device__ void turn_to(std::int64_t position, const Turns& turns, int pairs) {
    constexpr float kUnit = 1.0f / 2147483648.0f;  // half turns, from -1 to 1
    __syncthreads();                               // the angles of the call before have been read
    for (int i = static_cast<int>(threadIdx.x); i < pairs; i += kThreads) {
      const std::uint64_t turn = turns.per_position[i] * static_cast<std::uint64_t>(position);
      sincospif(kUnit * static_cast<float>(static_cast<std::int32_t>(turn >> 32)), &sine[i],
                &cosine[i]);
    }
    __syncthreads();
  }
};

// Of the eight pairs from `first` on.
struct Angles {
  float cosine[8], sine[8];

  __device__ Angles(const BlockAngles& all, int first) {
    load8(all.cosine + first, cosine);
    load8(all.sine + first, sine);
  }

  // Both halves of eight pairs, forward or, by direction -1, back.
  __device__ void rotate(float direction, float (&low)[8], float (&high)[8]) const {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float before = low[k], turn = direction * sine[k];
      low[k] = before * cosine[k] - high[k] * turn;
      high[k] = high[k] * cosine[k] + before * turn;
    }
  }
};

// A thread's columns of a head as they lie in memory.
template <typename T>
struct Halves {
  Packed8<T> low = {}, high = {};

  __device__ void load(const T* from, int half) {
    low = load_packed(from);
    high = load_packed(from + half);
  }
  __device__ void store(T* to, int half) const {
    *reinterpret_cast<Packed8<T>*>(to) = low;
    *reinterpret_cast<Packed8<T>*>(to + half) = high;
  }
};

template <typename T>
__device__ void store_halves(T* to, int half, const float (&low)[8], const float (&high)[8]) {
  store8(to, low);
  store8(to + half, high);
}

// `normed`: with a norm before the rotation.
template <typename T, bool normed, int lanes>
__global__ void __launch_bounds__(kThreads) rotary_kernel(Rotary<T> r) {
  constexpr int kGroups = kThreads / lanes;
  const HeadPlace<lanes> my;
  const std::int64_t row = blockIdx.x;
  const int half = r.head_dim / 2, all = r.all_heads();
  __shared__ BlockAngles all_angles;
  all_angles.turn_to(row % r.tokens, r.turns, half);
  const Angles angles(all_angles, my.column);
  // All groups go on together. One after the last head computes with zeros.
  for (int first = 0; first < all; first += kGroups) {
    const int head = first + my.group;
    const bool inside = head < all && my.column < half;
    const std::int64_t at = (row * all + head) * r.head_dim + my.column;
    Halves<T> x;
    if (inside) x.load(r.qkv + at, half);
    float low[8], high[8];
    unpack(x.low, low);
    unpack(x.high, high);
    if constexpr (normed) {
      float sum = 0;
#pragma unroll
      for (int k = 0; k < 8; ++k) sum += low[k] * low[k] + high[k] * high[k];
      const float mean = warp_sum<lanes>(sum) / static_cast<float>(r.head_dim);
      if (inside && r.is_rotated(head)) {
        const float inverse = rsqrtf(mean + kHeadNormEps);
        float low_weight[8], high_weight[8];
        load8(r.weight_of(head) + my.column, low_weight);
        load8(r.weight_of(head) + my.column + half, high_weight);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          low[k] *= inverse * low_weight[k];
          high[k] *= inverse * high_weight[k];
        }
        if (my.column == 0) r.inverse_rms[r.inverse_at(row, head)] = inverse;
      }
    }
    if (!inside) continue;
    if (r.is_rotated(head)) {
      angles.rotate(1, low, high);
      store_halves(r.rotated + at, half, low, high);
    } else {
      x.store(r.rotated + at, half);
    }
  }
}

// The sums of the gradients of a thread's columns of both weights.
struct WeightSums {
  float q_low[8] = {}, q_high[8] = {}, k_low[8] = {}, k_high[8] = {};

  __device__ void add(bool is_q, int k, float low, float high) {
    q_low[k] += is_q ? low : 0.0f;
    q_high[k] += is_q ? high : 0.0f;
    k_low[k] += is_q ? 0.0f : low;
    k_high[k] += is_q ? 0.0f : high;
  }

  template <int lanes, int groups>
  __device__ void write(float* to, int half) const {
    write_group_sums<lanes, groups>(q_low, to, half);
    write_group_sums<lanes, groups>(q_high, to + half, half);
    write_group_sums<lanes, groups>(k_low, to + 2 * half, half);
    write_group_sums<lanes, groups>(k_high, to + 3 * half, half);
  }
};

// With d the gradient before the rotation, n = x * inverse and g = d * weight:
// dx = inverse * (g - n * mean(g * n)). Called by all threads of a head; those that are not
// `inside` have zeros.
template <typename T, int lanes>
__device__ void norm_backward(const Rotary<T>& r, const HeadPlace<lanes>& my, bool inside,
                              std::int64_t row, int head, float (&low)[8], float (&high)[8],
                              WeightSums& sums) {
  const int half = r.head_dim / 2;
  float low_n[8] = {}, high_n[8] = {}, low_weight[8] = {}, high_weight[8] = {}, inverse = 0;
  if (inside) {
    const T* const x = r.qkv + (row * r.all_heads() + head) * r.head_dim + my.column;
    load8(x, low_n);
    load8(x + half, high_n);
    load8(r.weight_of(head) + my.column, low_weight);
    load8(r.weight_of(head) + my.column + half, high_weight);
    inverse = r.inverse_rms[r.inverse_at(row, head)];
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    low_n[k] *= inverse;
    high_n[k] *= inverse;
    sums.add(head < r.heads, k, low[k] * low_n[k], high[k] * high_n[k]);
    low[k] *= low_weight[k];
    high[k] *= high_weight[k];
    sum += low[k] * low_n[k] + high[k] * high_n[k];
  }
  const float mean = warp_sum<lanes>(sum) / static_cast<float>(r.head_dim);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    low[k] = inverse * (low[k] - low_n[k] * mean);
    high[k] = inverse * (high[k] - high_n[k] * mean);
  }
}

template <typename T, bool normed, int lanes>
__global__ void __launch_bounds__(kThreads, 4) rotary_backward_kernel(Rotary<T> r) {
  constexpr int kGroups = kThreads / lanes;
  const HeadPlace<lanes> my;
  const int half = r.head_dim / 2, all = r.all_heads();
  __shared__ BlockAngles all_angles;
  WeightSums sums;
  for (std::int64_t row = blockIdx.x; row < r.rows; row += gridDim.x) {
    all_angles.turn_to(row % r.tokens, r.turns, half);
    const Angles angles(all_angles, my.column);
    for (int first = 0; first < all; first += kGroups) {
      const int head = first + my.group;
      const bool inside = head < all && my.column < half, turns = inside && r.is_rotated(head);
      const std::int64_t at = (row * all + head) * r.head_dim + my.column;
      Halves<T> d;
      if (inside) d.load(r.drotated + at, half);
      float low[8] = {}, high[8] = {};
      if (turns) {
        unpack(d.low, low);
        unpack(d.high, high);
        angles.rotate(-1, low, high);
      }
      if constexpr (normed) norm_backward(r, my, turns, row, head, low, high, sums);
      if (turns) {
        store_halves(r.dqkv + at, half, low, high);
      } else if (inside && r.dqkv != r.drotated) {
        d.store(r.dqkv + at, half);
      }
    }
  }
  if constexpr (normed) {
    sums.template write<lanes, kGroups>(
        r.partials + static_cast<std::int64_t>(blockIdx.x) * 2 * r.head_dim, half);
  }
}

template <typename T>
Rotary<T> rotary_of(const RotaryTensors& t) {
  Rotary<T> r{};
  r.qkv = data<T>(t.qkv);
  r.q_weight = data<T>(t.q_weight);
  r.k_weight = data<T>(t.k_weight);
  r.inverse_rms = data<float>(t.inverse_rms);
  r.rows = t.qkv.rows;
  r.tokens = t.shape.tokens;
  r.heads = static_cast<int>(t.shape.heads);
  r.key_heads = static_cast<int>(t.shape.key_heads());
  r.head_dim = static_cast<int>(t.shape.head_dim);
  r.turns = turns_of(t.shape.head_dim, t.theta);
  return r;
}

// Calls launch.run<normed, lanes>() with how many threads share a head.
template <typename Launch>
void by_head(const RotaryTensors& t, const Launch& launch) {
  const auto by_lanes = [&](auto normed) {
    if (t.shape.head_dim <= 64) return launch.template run<normed.value, 4>();
    if (t.shape.head_dim <= 128) return launch.template run<normed.value, 8>();
    launch.template run<normed.value, 16>();
  };
  if (t.normalises()) return by_lanes(std::true_type{});
  by_lanes(std::false_type{});
}

template <typename T>
struct RotaryLaunch {
  Rotary<T> rotary;
  Stream& stream;

  template <bool normed, int lanes>
  void run() const {
    launch(rotary_kernel<T, normed, lanes>, {static_cast<unsigned>(rotary.rows), kThreads}, stream,
           rotary);
  }
};

template <typename T>
struct RotaryBackwardLaunch {
  Rotary<T> rotary;
  int blocks;
  Stream& stream;

  template <bool normed, int lanes>
  void run() const {
    launch(rotary_backward_kernel<T, normed, lanes>, {static_cast<unsigned>(blocks), kThreads},
           stream, rotary);
  }
};

}  // namespace

void launch(const Rotate& o, Stream& stream) {
  by_type(o.rotated.dtype, [&](auto element) {
    using T = decltype(element);
    Rotary<T> rotary = rotary_of<T>(o.tensors);
    rotary.rotated = data<T>(o.rotated);
    by_head(o.tensors, RotaryLaunch<T>{rotary, stream});
  });
}

void launch(const RotateBackward& o, float* partials, int blocks, Stream& stream) {
  by_type(o.dqkv.dtype, [&](auto element) {
    using T = decltype(element);
    Rotary<T> rotary = rotary_of<T>(o.tensors);
    rotary.drotated = data<T>(o.drotated);
    rotary.dqkv = data<T>(o.dqkv);
    rotary.partials = partials;
    by_head(o.tensors, RotaryBackwardLaunch<T>{rotary, blocks, stream});
  });
  if (!o.tensors.has_gradients()) return;
  launch_column_sums(partials, blocks, o.tensors.q_weight_gradient, o.tensors.k_weight_gradient,
                     o.gradients, stream);
}

}  // namespace duet::DUET_GPU
