// Loops in the widest vectors that this CPU has, from one source, without flags for the compiler.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// A function that is inlined into on_widest_vectors(), and so compiled for each vector width.
#define DUET_INLINE inline __attribute__((always_inline))
// The same for a lambda, after its parameters.
#define DUET_INLINE_BODY __attribute__((always_inline))

namespace duet {

template <class Body>
__attribute__((target("avx512f,avx512dq,fma,prefer-vector-width=512"))) void on_avx512(
    const Body& body) {
  body();
}

template <class Body>
__attribute__((target("avx2,fma"))) void on_avx2(const Body& body) {
  body();
}

// Calls `body`, a lambda with DUET_INLINE_BODY. All that it calls should be DUET_INLINE. The result
// may differ in rounding between CPUs that have different vectors.
template <class Body>
void on_widest_vectors(const Body& body) {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") &&
                                 __builtin_cpu_supports("avx512dq") &&
                                 __builtin_cpu_supports("fma");
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx512) {
    on_avx512(body);
  } else if (has_avx2) {
    on_avx2(body);
  } else {
    body();
  }
}

// 64 bytes of Real. Functions take vectors by reference, because the ABI of values depends on the
// compiler's target.
template <class Real>
struct VectorOf {
  typedef Real type __attribute__((vector_size(64)));
  static constexpr std::int64_t kLanes = 64 / sizeof(Real);
};
template <class Real>
using Vector = typename VectorOf<Real>::type;
template <class Real>
constexpr std::int64_t kLanes = VectorOf<Real>::kLanes;

// The first `count` lanes from memory, zeros in the others.
template <class Real>
DUET_INLINE void load(Vector<Real>& v, const Real* from, std::int64_t count = kLanes<Real>) {
  if (count >= kLanes<Real>) {
    std::memcpy(&v, from, sizeof v);
  } else {
    v = Vector<Real>{};
    for (std::int64_t i = 0; i < count; ++i) v[i] = from[i];
  }
}

// The first `count` lanes to memory.
template <class Real>
DUET_INLINE void store(Real* to, const Vector<Real>& v, std::int64_t count = kLanes<Real>) {
  if (count >= kLanes<Real>) {
    std::memcpy(to, &v, sizeof v);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = v[i];
  }
}

// The sum of the lanes, in the same order on every CPU.
template <class Real>
DUET_INLINE Real sum_of_lanes(const Vector<Real>& v) {
  Real sum = 0;
  for (std::int64_t i = 0; i < kLanes<Real>; ++i) sum += v[i];
  return sum;
}

// v = exp(v) by std::exp.
DUET_INLINE void exponentiate(Vector<double>& v) {
  for (std::int64_t i = 0; i < kLanes<double>; ++i) v[i] = std::exp(v[i]);
}

// v = exp(v) with a relative error below 3e-7 between -87 and 88; 0 below, exp(88) above, NaN of
// NaN. exp(x) = 2^k exp(r), |r| <= ln(2) / 2, and exp(r) by its Taylor series up to r^7 / 7!.
DUET_INLINE void exponentiate(Vector<float>& v) {
  typedef std::int32_t Integers __attribute__((vector_size(64)));
  const Vector<float> zero = {};
  Vector<float> x = v < -87.0f ? zero - 87.0f : v;
  x = x > 88.0f ? zero + 88.0f : x;
  const Vector<float> half = x < 0.0f ? zero - 0.5f : zero + 0.5f;
  const Integers k = __builtin_convertvector(x * 1.44269504f + half, Integers);
  const Vector<float> whole = __builtin_convertvector(k, Vector<float>);
  // ln(2) in two parts, of which the first has so few bits that its product with k is exact.
  const Vector<float> r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Vector<float> series = zero + 1.0f / 5040;
  for (const float term : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    series = series * r + term;
  }
  const Integers power_bits = (k + 127) << 23;
  Vector<float> power;
  std::memcpy(&power, &power_bits, sizeof power);
  v = v < -87.0f ? zero : series * power;
}

}  // namespace duet
