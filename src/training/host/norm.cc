#include "training/host/norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

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
DUET_INLINE Real mean_square_of(const Real* x, std::int64_t columns) {
  Vector<Real> sum = {}, value;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    sum += value * value;
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

template <bool centred, class Real>
DUET_INLINE void norm_row(const NormRows<Real>& norm, std::int64_t row, Real* y) {
  const std::int64_t columns = norm.x.columns;
  const Real* const x = norm.x.row(row);
  Real mean = 0, square;
  if constexpr (centred) {
    mean = norm.mean[row] = mean_of(x, columns);
    square = variance_of(x, mean, columns) + static_cast<Real>(kLayerNormEps);
  } else {
    square = mean_square_of(x, columns) + static_cast<Real>(kRmsNormEps);
  }
  const Real inverse = norm.inverse[row] = 1 / std::sqrt(square);
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) {
    if constexpr (centred) {
      y[j] = (x[j] - mean) * inverse * norm.weight[j] + norm.bias[j];
    } else {
      y[j] = x[j] * inverse * norm.weight[j];
    }
  }
}

// One row of norm_backward_input(), with g and n as there.
template <bool centred, class Real>
DUET_INLINE void norm_row_backward(const NormRows<Real>& norm, std::int64_t row, const Real* dy,
                                   Real* dx, Accumulate accumulate) {
  const std::int64_t columns = norm.x.columns;
  const Real *const x = norm.x.row(row), *const weight = norm.weight;
  const Real inverse = norm.inverse[row];
  Real mean = 0, mean_g = 0;
  if constexpr (centred) mean = norm.mean[row];
  Vector<Real> sum_g = {}, sum_gn = {}, value, g, factor;
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);  // zero after the row, and so are the terms of both sums
    load(factor, weight + j, columns - j);
    g *= factor;
    if constexpr (centred) {
      sum_g += g;
      value -= mean;
    }
    sum_gn += g * (value * inverse);
  }
  if constexpr (centred) mean_g = sum_of_lanes<Real>(sum_g) / static_cast<Real>(columns);
  const Real mean_gn = sum_of_lanes<Real>(sum_gn) / static_cast<Real>(columns);
  for (std::int64_t j = 0; j < columns; j += kLanes<Real>) {
    Vector<Real> old = {};
    load(value, x + j, columns - j);
    load(g, dy + j, columns - j);
    load(factor, weight + j, columns - j);
    if (accumulate == Accumulate::yes) load(old, dx + j, columns - j);
    if constexpr (centred) {
      old += inverse * (g * factor - mean_g - (value - mean) * inverse * mean_gn);
    } else {
      old += inverse * (g * factor - value * inverse * mean_gn);
    }
    store(dx + j, old, columns - j);
  }
}

// The columns from `begin` to `end` of norm_backward_parameters().
template <bool centred, class Real>
DUET_INLINE void add_column_sums(const NormRows<Real>& norm, Matrix<const Real> dy,
                                 std::int64_t begin, std::int64_t end, Real* dweight, Real* dbias) {
  for (std::int64_t i = 0; i < dy.rows; ++i) {
    const Real *const x = norm.x.row(i), *const g = dy.row(i);
    const Real inverse = norm.inverse[i];
    Real mean = 0;
    if constexpr (centred) mean = norm.mean[i];
#pragma omp simd
    for (std::int64_t j = begin; j < end; ++j) {
      if constexpr (centred) {
        dweight[j] += g[j] * ((x[j] - mean) * inverse);
        dbias[j] += g[j];
      } else {
        dweight[j] += g[j] * (x[j] * inverse);
      }
    }
  }
}

// Calls body(std::bool_constant<whether it is a LayerNorm>).
template <class Real, class Body>
void by_kind(const NormRows<Real>& norm, const Body& body) {
  if (norm.mean != nullptr) return body(std::true_type());
  body(std::false_type());
}

}  // namespace

template <class Real>
void norm(const NormRows<Real>& norm, Matrix<Real> y) {
  check_shape("y", y, norm.x.rows, norm.x.columns);
  by_kind(norm, [&](auto centred) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < y.rows; ++i) {
      on_widest_vectors(
          [&]() DUET_INLINE_BODY { norm_row<decltype(centred)::value>(norm, i, y.row(i)); });
    }
  });
}

template <class Real>
void norm_backward_input(const NormRows<Real>& norm, Matrix<const Real> dy, Matrix<Real> dx,
                         Accumulate accumulate) {
  check_shape("dy", dy, norm.x.rows, norm.x.columns);
  check_shape("dx", dx, norm.x.rows, norm.x.columns);
  by_kind(norm, [&](auto centred) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < dy.rows; ++i) {
      on_widest_vectors([&]() DUET_INLINE_BODY {
        norm_row_backward<decltype(centred)::value>(norm, i, dy.row(i), dx.row(i), accumulate);
      });
    }
  });
}

template <class Real>
void norm_backward_parameters(const NormRows<Real>& norm, Matrix<const Real> dy, Real* dweight,
                              Real* dbias) {
  check_shape("dy", dy, norm.x.rows, norm.x.columns);
  by_kind(norm, [&](auto centred) {
#pragma omp parallel for schedule(static)
    for (std::int64_t begin = 0; begin < dy.columns; begin += kNormColumns) {
      const std::int64_t end = std::min(begin + kNormColumns, dy.columns);
      on_widest_vectors([&]() DUET_INLINE_BODY {
        add_column_sums<decltype(centred)::value>(norm, dy, begin, end, dweight, dbias);
      });
    }
  });
}

#define DUET_INSTANTIATE(Real)                                                                     \
  template void norm<Real>(const NormRows<Real>&, Matrix<Real>);                                   \
  template void norm_backward_input<Real>(const NormRows<Real>&, Matrix<const Real>, Matrix<Real>, \
                                          Accumulate);                                             \
  template void norm_backward_parameters<Real>(const NormRows<Real>&, Matrix<const Real>, Real*,   \
                                               Real*);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
