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

// sigmoid = 1 / (1 + exp(-x)).
template <class Real>
DUET_INLINE void logistic(const Vector<Real>& x, Vector<Real>& sigmoid) {
  Vector<Real> power = -x;
  exponentiate(power);
  sigmoid = Real(1) / (Real(1) + power);
}

// Calls body(i) for all rows, in parallel.
template <class Body>
void for_rows(std::int64_t rows, const Body& body) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY { body(i); });
  }
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

template <class Real>
void swiglu(Matrix<const Real> gate_up, Matrix<Real> y) {
  check_shape("gate_up", gate_up, y.rows, 2 * y.columns);
  for_rows(y.rows, [=](std::int64_t i) DUET_INLINE_BODY {
    const Real *const gate_row = gate_up.row(i), *const up_row = gate_row + y.columns;
    for (std::int64_t j = 0; j < y.columns; j += kLanes<Real>) {
      Vector<Real> gate, up, sigmoid;
      load(gate, gate_row + j, y.columns - j);
      load(up, up_row + j, y.columns - j);
      logistic<Real>(gate, sigmoid);
      store(y.row(i) + j, Vector<Real>(gate * sigmoid * up), y.columns - j);
    }
  });
}

template <class Real>
void swiglu_backward(Matrix<const Real> gate_up, Matrix<const Real> dy, Matrix<Real> dgate_up) {
  check_shape("gate_up", gate_up, dy.rows, 2 * dy.columns);
  check_shape("dgate_up", dgate_up, dy.rows, 2 * dy.columns);
  for_rows(dy.rows, [=](std::int64_t i) DUET_INLINE_BODY {
    const Real *const gate_row = gate_up.row(i), *const up_row = gate_row + dy.columns;
    Real* const to = dgate_up.row(i);
    for (std::int64_t j = 0; j < dy.columns; j += kLanes<Real>) {
      const std::int64_t left = dy.columns - j;
      Vector<Real> gate, up, sigmoid, gradient;
      load(gate, gate_row + j, left);
      load(up, up_row + j, left);
      load(gradient, dy.row(i) + j, left);
      logistic<Real>(gate, sigmoid);
      // d (gate * sigmoid) / dgate = sigmoid * (1 + gate * (1 - sigmoid)).
      const Vector<Real> slope = sigmoid * (Real(1) + gate * (Real(1) - sigmoid));
      store(to + j, Vector<Real>(gradient * up * slope), left);
      store(to + dy.columns + j, Vector<Real>(gradient * gate * sigmoid), left);
    }
  });
}

#define DUET_INSTANTIATE(Real)                                                      \
  template void gelu<Real>(const Real*, Real*, std::int64_t);                       \
  template void gelu_backward<Real>(const Real*, const Real*, Real*, std::int64_t); \
  template void relu<Real>(const Real*, Real*, std::int64_t);                       \
  template void relu_backward<Real>(const Real*, const Real*, Real*, std::int64_t); \
  template void swiglu<Real>(Matrix<const Real>, Matrix<Real>);                     \
  template void swiglu_backward<Real>(Matrix<const Real>, Matrix<const Real>, Matrix<Real>);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
