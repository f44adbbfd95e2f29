#include "training/host/rotary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "training/host/vectors.h"
#include "training/operations/norm_eps.h"

namespace duet {
namespace {

constexpr std::int64_t kRotaryTokens = 32;  // of a task

// theta^(-2i / head_dim) of each pair i.
std::vector<double> rotary_frequencies(std::int64_t head_dim, double theta) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    frequencies.push_back(
        std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(head_dim)));
  }
  return frequencies;
}

// The cosines and sines of one position.
template <class Real>
struct Rotation {
  std::vector<Real> cosine, sine;

  void turn_to(std::int64_t position, const std::vector<double>& frequencies) {
    cosine.resize(frequencies.size());
    sine.resize(frequencies.size());
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      cosine[i] = static_cast<Real>(std::cos(angle));
      sine[i] = static_cast<Real>(std::sin(angle));
    }
  }
};

// to = from rotated forward, or back by direction -1. `to` may be `from`.
template <class Real>
DUET_INLINE void rotate_head(const Rotation<Real>& rotation, Real direction, const Real* from,
                             Real* to) {
  const auto half = static_cast<std::int64_t>(rotation.cosine.size());
  const Real *const cosine = rotation.cosine.data(), *const sine = rotation.sine.data();
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const Real low = from[i], high = from[i + half], turn = direction * sine[i];
    to[i] = low * cosine[i] - high * turn;
    to[i + half] = high * cosine[i] + low * turn;
  }
}

// Returns the inverse root mean square.
template <class Real>
DUET_INLINE Real norm_head(const Real* x, const Real* weight, std::int64_t head_dim, Real* to) {
  Vector<Real> sum = {}, value;
  for (std::int64_t j = 0; j < head_dim; j += kLanes<Real>) {
    load(value, x + j, head_dim - j);
    sum += value * value;
  }
  const Real mean = sum_of_lanes<Real>(sum) / static_cast<Real>(head_dim);
  const Real inverse = 1 / std::sqrt(mean + static_cast<Real>(kRmsNormEps));
#pragma omp simd
  for (std::int64_t j = 0; j < head_dim; ++j) to[j] = x[j] * inverse * weight[j];
  return inverse;
}

// With n = x * inverse and g = d * weight: adds d * n to dweight, and
// d = inverse * (g - n * mean(g * n)).
template <class Real>
DUET_INLINE void norm_head_backward(const Real* x, const Real* weight, Real inverse,
                                    std::int64_t head_dim, Real* d, Real* dweight) {
  Vector<Real> sum = {}, value, gradient, factor, total;
  for (std::int64_t j = 0; j < head_dim; j += kLanes<Real>) {
    load(value, x + j, head_dim - j);
    load(gradient, d + j, head_dim - j);
    load(factor, weight + j, head_dim - j);
    load(total, dweight + j, head_dim - j);
    const Vector<Real> product = gradient * (value * inverse);
    sum += product * factor;
    store(dweight + j, Vector<Real>(total + product), head_dim - j);
  }
  const Real mean = sum_of_lanes<Real>(sum) / static_cast<Real>(head_dim);
#pragma omp simd
  for (std::int64_t j = 0; j < head_dim; ++j) {
    d[j] = inverse * (d[j] * weight[j] - x[j] * inverse * mean);
  }
}

// Calls body(row, rotation), a lambda with DUET_INLINE_BODY, for the rows of all tokens, in
// parallel by tasks of kRotaryTokens.
template <class Real, class Body>
void for_rotations(const RotaryHeads<Real>& in, const Body& body) {
  const std::int64_t rows = in.shape.batch * in.shape.tokens;
  const std::vector<double> frequencies = rotary_frequencies(in.shape.head_dim, in.theta);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < rows; begin += kRotaryTokens) {
    Rotation<Real> rotation;
    for (std::int64_t row = begin; row < std::min(begin + kRotaryTokens, rows); ++row) {
      rotation.turn_to(row % in.shape.tokens, frequencies);
      on_widest_vectors([&]() DUET_INLINE_BODY { body(row, rotation); });
    }
  }
}

// Copies v of one row.
template <class Real>
DUET_INLINE void copy_values(const AttentionShape& s, const Real* from, Real* to) {
  const std::int64_t before = s.width() + s.key_width();
  if (from != to) std::copy_n(from + before, s.key_width(), to + before);
}

}  // namespace

template <class Real>
void rotate_heads(const RotaryHeads<Real>& in, Real* rotated, Real* inverse_rms) {
  const AttentionShape& s = in.shape;
  const std::int64_t heads = s.heads + s.key_heads();
  for_rotations(in, [&](std::int64_t row, const Rotation<Real>& rotation) DUET_INLINE_BODY {
    const Real* const from = in.qkv + row * s.qkv_width();
    Real* const to = rotated + row * s.qkv_width();
    for (std::int64_t head = 0; head < heads; ++head) {
      const Real* x = from + head * s.head_dim;
      Real* const own = to + head * s.head_dim;
      if (in.q_weight != nullptr) {
        const Real* const weight = head < s.heads ? in.q_weight : in.k_weight;
        inverse_rms[row * heads + head] = norm_head(x, weight, s.head_dim, own);
        x = own;
      }
      rotate_head(rotation, Real(1), x, own);
    }
    copy_values(s, from, to);
  });
}

template <class Real>
void rotate_heads_backward(const RotaryHeads<Real>& in, const Real* inverse_rms,
                           const Real* drotated, Real* dqkv, Real* dq_weight, Real* dk_weight) {
  const AttentionShape& s = in.shape;
  const std::int64_t heads = s.heads + s.key_heads(), rows = s.batch * s.tokens;
  // Of each task: the gradients of q's weight, then of k's.
  std::vector<Real> sums(
      static_cast<std::size_t>((rows + kRotaryTokens - 1) / kRotaryTokens * 2 * s.head_dim));
  for_rotations(in, [&](std::int64_t row, const Rotation<Real>& rotation) DUET_INLINE_BODY {
    const Real* const from = drotated + row * s.qkv_width();
    Real* const to = dqkv + row * s.qkv_width();
    for (std::int64_t head = 0; head < heads; ++head) {
      Real* const own = to + head * s.head_dim;
      rotate_head(rotation, Real(-1), from + head * s.head_dim, own);
      if (in.q_weight == nullptr) continue;
      const bool is_q = head < s.heads;
      norm_head_backward(in.qkv + row * s.qkv_width() + head * s.head_dim,
                         is_q ? in.q_weight : in.k_weight, inverse_rms[row * heads + head],
                         s.head_dim, own,
                         sums.data() + (row / kRotaryTokens * 2 + (is_q ? 0 : 1)) * s.head_dim);
    }
    copy_values(s, from, to);
  });
  if (dq_weight == nullptr) return;
  for (std::size_t i = 0; i < sums.size(); i += static_cast<std::size_t>(2 * s.head_dim)) {
    for (std::int64_t j = 0; j < s.head_dim; ++j) {
      dq_weight[j] += sums[i + static_cast<std::size_t>(j)];
      dk_weight[j] += sums[i + static_cast<std::size_t>(s.head_dim + j)];
    }
  }
}

#define DUET_INSTANTIATE(Real)                                                                  \
  template void rotate_heads<Real>(const RotaryHeads<Real>&, Real*, Real*);                     \
  template void rotate_heads_backward<Real>(const RotaryHeads<Real>&, const Real*, const Real*, \
                                            Real*, Real*, Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
