#include "training/host/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "training/host/vectors.h"
#include "training/operations/norm_eps.h"

namespace duet {
namespace {

constexpr std::int64_t kRmsColumns = 64;  // of a task that sums over rows

template <class Real>
DUET_INLINE Real mean_square_of(const Real* x, std::int64_t columns) {
  Vector<Real> sum = {}, value;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    sum += value * value;
  }
  return sum_of_lanes<Real>(sum) / static_cast<Real>(columns);
}

// One row of rms_norm_backward_input(), with g and n as there.
template <class Real>
DUET_INLINE void rms_row_backward(const RmsNormed<Real>& forward, std::int64_t row, const Real* dy,
                                  Real* dx, Accumulate accumulate) {
  const std::int64_t columns = forward.x.columns;
  const Real *const x = forward.x.row(row), *const weight = forward.weight;
  const Real inverse = forward.inverse_rms[row];
  Vector<Real> sum = {}, value, g, factor;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);
    load(factor, weight + j, columns - j);
    sum += g * factor * (value * inverse);
  }
  const Real mean_gn = sum_of_lanes<Real>(sum) / static_cast<Real>(columns);
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    Vector<Real> old = {};
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);
    load(factor, weight + j, columns - j);
    if (accumulate == Accumulate::yes) load(old, dx + j, columns - j);
    old += inverse * (g * factor - value * inverse * mean_gn);
    store(dx + j, old, columns - j);
  }
}

}  // namespace

template <class Real>
void rms_norm(Matrix<const Real> x, const Real* weight, Matrix<Real> y, Real* inverse_rms) {
  check_shape("y", y, x.rows, x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < x.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      const Real* const from = x.row(i);
      Real* const to = y.row(i);
      const Real inverse =
          1 / std::sqrt(mean_square_of(from, x.columns) + static_cast<Real>(kRmsNormEps));
#pragma omp simd
      for (std::int64_t j = 0; j < x.columns; ++j) to[j] = from[j] * inverse * weight[j];
      inverse_rms[i] = inverse;
    });
  }
}

template <class Real>
void rms_norm_backward_input(const RmsNormed<Real>& forward, Matrix<const Real> dy, Matrix<Real> dx,
                             Accumulate accumulate) {
  check_shape("dy", dy, forward.x.rows, forward.x.columns);
  check_shape("dx", dx, forward.x.rows, forward.x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < dy.rows; ++i) {
    on_widest_vectors(
        [&]() DUET_INLINE_BODY { rms_row_backward(forward, i, dy.row(i), dx.row(i), accumulate); });
  }
}

template <class Real>
void rms_norm_backward_weight(const RmsNormed<Real>& forward, Matrix<const Real> dy,
                              Real* dweight) {
  check_shape("dy", dy, forward.x.rows, forward.x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < dy.columns; begin += kRmsColumns) {
    const std::int64_t end = std::min(begin + kRmsColumns, dy.columns);
    on_widest_vectors([&]() DUET_INLINE_BODY {
      for (std::int64_t i = 0; i < dy.rows; ++i) {
        const Real *const x = forward.x.row(i), *const g = dy.row(i);
        const Real inverse = forward.inverse_rms[i];
#pragma omp simd
        for (std::int64_t j = begin; j < end; ++j) dweight[j] += g[j] * (x[j] * inverse);
      }
    });
  }
}

#define DUET_INSTANTIATE(Real)                                                            \
  template void rms_norm<Real>(Matrix<const Real>, const Real*, Matrix<Real>, Real*);     \
  template void rms_norm_backward_input<Real>(const RmsNormed<Real>&, Matrix<const Real>, \
                                              Matrix<Real>, Accumulate);                  \
  template void rms_norm_backward_weight<Real>(const RmsNormed<Real>&, Matrix<const Real>, Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
