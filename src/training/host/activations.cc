#include "training/host/activations.h"

#include <algorithm>

#include "gemm/epilogue.h"
#include "training/host/vectors.h"

namespace duet {
namespace {

constexpr std::int64_t kActivationCount = 4096;  // elements of a task

// Calls body(begin, end), a lambda with DUET_INLINE_BODY, for all elements, in parallel.
template <class Body>
void for_elements(std::int64_t count, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < count; begin += kActivationCount) {
    const std::int64_t end = std::min(begin + kActivationCount, count);
    on_widest_vectors([&]() DUET_INLINE_BODY { body(begin, end); });
  }
}

// sigmoid = 1 / (1 + exp(-2u)), which is (1 + tanh(u)) / 2 without cancellation.
template <class Real>
DUET_INLINE void gelu_sigmoid(const Vector<Real>& x, Vector<Real>& sigmoid) {
  constexpr Real kSlope = static_cast<Real>(kGeluSlope), kCubic = static_cast<Real>(kGeluCubic);
  Vector<Real> power = Real(-2) * kSlope * (x + kCubic * x * x * x);
  exponentiate(power);
  sigmoid = Real(1) / (Real(1) + power);
}

}  // namespace

template <class Real>
void gelu(const Real* x, Real* y, std::int64_t count) {
  for_elements(count, [=](std::int64_t begin, std::int64_t end) DUET_INLINE_BODY {
    for (std::int64_t i = begin; i < end; i += kLanes<Real>) {
      Vector<Real> value, sigmoid;
      load(value, x + i, end - i);
      gelu_sigmoid<Real>(value, sigmoid);
      store(y + i, Vector<Real>(value * sigmoid), end - i);
    }
  });
}

template <class Real>
void gelu_backward(const Real* x, const Real* dy, Real* dx, std::int64_t count) {
  constexpr Real kSlope = static_cast<Real>(kGeluSlope), kCubic = static_cast<Real>(kGeluCubic);
  for_elements(count, [=](std::int64_t begin, std::int64_t end) DUET_INLINE_BODY {
    for (std::int64_t i = begin; i < end; i += kLanes<Real>) {
      Vector<Real> value, sigmoid, gradient;
      load(value, x + i, end - i);
      load(gradient, dy + i, end - i);
      gelu_sigmoid<Real>(value, sigmoid);
      // d sigmoid / dx = sigmoid * (1 - sigmoid) * 2 du/dx.
      const Vector<Real> slope = Real(2) * kSlope * (Real(1) + Real(3) * kCubic * value * value);
      gradient *= sigmoid + value * sigmoid * (Real(1) - sigmoid) * slope;
      store(dx + i, gradient, end - i);
    }
  });
}

template <class Real>
void relu(const Real* x, Real* y, std::int64_t count) {
  for_elements(count, [=](std::int64_t begin, std::int64_t end) DUET_INLINE_BODY {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] <= 0 ? Real(0) : x[i];
  });
}

template <class Real>
void relu_backward(const Real* x, const Real* dy, Real* dx, std::int64_t count) {
  for_elements(count, [=](std::int64_t begin, std::int64_t end) DUET_INLINE_BODY {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) dx[i] = x[i] <= 0 ? Real(0) : dy[i];
  });
}

#define DUET_INSTANTIATE(Real)                                                      \
  template void gelu<Real>(const Real*, Real*, std::int64_t);                       \
  template void gelu_backward<Real>(const Real*, const Real*, Real*, std::int64_t); \
  template void relu<Real>(const Real*, Real*, std::int64_t);                       \
  template void relu_backward<Real>(const Real*, const Real*, Real*, std::int64_t);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
