#include "training/host/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "training/host/vectors.h"
#include "training/operations/norm_eps.h"

namespace duet {
namespace {

constexpr std::int64_t kNormColumns = 64;  // of a task that sums over rows

template <class Real>
DUET_INLINE Real mean_of(const Real* x, std::int64_t columns) {
  Vector<Real> sum = {}, value;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    sum += value;
  }
  return sum_of_lanes<Real>(sum) / static_cast<Real>(columns);
}

template <class Real>
DUET_INLINE Real variance_of(const Real* x, Real mean, std::int64_t columns) {
  Vector<Real> sum = {}, value;
  std::int64_t j = 0;
  for (; j + kLanes<Real> <= columns; j += kLanes<Real>) {
    load(value, x + j);
    value -= mean;
    sum += value * value;
  }
  Real total = sum_of_lanes<Real>(sum);
  for (; j < columns; ++j) total += (x[j] - mean) * (x[j] - mean);
  return total / static_cast<Real>(columns);
}

// One row of layer_norm_backward_input(), with g and n as there.
template <class Real>
DUET_INLINE void norm_row_backward(const LayerNormed<Real>& forward, std::int64_t row,
                                   const Real* dy, Real* dx, Accumulate accumulate) {
  const std::int64_t columns = forward.x.columns;
  const Real *const x = forward.x.row(row), *const weight = forward.weight;
  const Real mean = forward.mean[row], inverse = forward.inverse_deviation[row];
  Vector<Real> sum_g = {}, sum_gn = {}, value, g, factor;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);  // zero after the row, and so are the terms of both sums
    load(factor, weight + j, columns - j);
    g *= factor;
    sum_g += g;
    sum_gn += g * ((value - mean) * inverse);
  }
  const Real mean_g = sum_of_lanes<Real>(sum_g) / static_cast<Real>(columns);
  const Real mean_gn = sum_of_lanes<Real>(sum_gn) / static_cast<Real>(columns);
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    Vector<Real> old = {};
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);
    load(factor, weight + j, columns - j);
    if (accumulate == Accumulate::yes) load(old, dx + j, columns - j);
    old += inverse * (g * factor - mean_g - (value - mean) * inverse * mean_gn);
    store(dx + j, old, columns - j);
  }
}

}  // namespace

template <class Real>
void layer_norm(Matrix<const Real> x, const Real* weight, const Real* bias, Matrix<Real> y,
                Real* mean, Real* inverse_deviation) {
  check_shape("y", y, x.rows, x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < x.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      const Real* const from = x.row(i);
      Real* const to = y.row(i);
      const Real centre = mean_of(from, x.columns);
      const Real inverse =
          1 / std::sqrt(variance_of(from, centre, x.columns) + static_cast<Real>(kLayerNormEps));
#pragma omp simd
      for (std::int64_t j = 0; j < x.columns; ++j) {
        to[j] = (from[j] - centre) * inverse * weight[j] + bias[j];
      }
      mean[i] = centre;
      inverse_deviation[i] = inverse;
    });
  }
}

template <class Real>
void layer_norm_backward_input(const LayerNormed<Real>& forward, Matrix<const Real> dy,
                               Matrix<Real> dx, Accumulate accumulate) {
  check_shape("dy", dy, forward.x.rows, forward.x.columns);
  check_shape("dx", dx, forward.x.rows, forward.x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < dy.rows; ++i) {
    on_widest_vectors([&]() DUET_INLINE_BODY {
      norm_row_backward(forward, i, dy.row(i), dx.row(i), accumulate);
    });
  }
}

template <class Real>
void layer_norm_backward_parameters(const LayerNormed<Real>& forward, Matrix<const Real> dy,
                                    Real* dweight, Real* dbias) {
  check_shape("dy", dy, forward.x.rows, forward.x.columns);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < dy.columns; begin += kNormColumns) {
    const std::int64_t end = std::min(begin + kNormColumns, dy.columns);
    on_widest_vectors([&]() DUET_INLINE_BODY {
      for (std::int64_t i = 0; i < dy.rows; ++i) {
        const Real *const x = forward.x.row(i), *const g = dy.row(i);
        const Real mean = forward.mean[i], inverse = forward.inverse_deviation[i];
#pragma omp simd
        for (std::int64_t j = begin; j < end; ++j) {
          dweight[j] += g[j] * ((x[j] - mean) * inverse);
          dbias[j] += g[j];
        }
      }
    });
  }
}

#define DUET_INSTANTIATE(Real)                                                                     \
  template void layer_norm<Real>(Matrix<const Real>, const Real*, const Real*, Matrix<Real>,       \
                                 Real*, Real*);                                                    \
  template void layer_norm_backward_input<Real>(const LayerNormed<Real>&, Matrix<const Real>,      \
                                                Matrix<Real>, Accumulate);                         \
  template void layer_norm_backward_parameters<Real>(const LayerNormed<Real>&, Matrix<const Real>, \
                                                     Real*, Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
