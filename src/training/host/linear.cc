#include "training/host/linear.h"

#include <algorithm>

#include "training/host/product.h"

namespace duet {
namespace {

// A task computes at most (kTaskRows, kTaskColumns) of the result, in steps of kTaskDepth products.
constexpr std::int64_t kTaskRows = 128, kTaskColumns = 64, kTaskDepth = 128;

// Calls task(i, j, rows, columns) for the blocks that begin at (i, j) of a (rows, columns) result,
// in parallel.
template <class Task>
void for_blocks(std::int64_t rows, std::int64_t columns, const Task& task) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t i = 0; i < rows; i += kTaskRows) {
    for (std::int64_t j = 0; j < columns; j += kTaskColumns) {
      task(i, j, std::min(kTaskRows, rows - i), std::min(kTaskColumns, columns - j));
    }
  }
}

template <class Real>
void set_zero(const Matrix<Real>& c, std::int64_t i, std::int64_t j, std::int64_t rows,
              std::int64_t columns) {
  for (std::int64_t r = i; r < i + rows; ++r) {
    std::fill(c.row(r) + j, c.row(r) + j + columns, Real(0));
  }
}

}  // namespace

template <class Real>
void linear(Matrix<const Real> x, Matrix<const Real> w, Matrix<Real> y) {
  check_shape("w", w, y.columns, x.columns);
  check_shape("y", y, x.rows, w.rows);
  for_blocks(y.rows, y.columns,
             [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
               alignas(64) Real transposed[kTaskDepth * kTaskColumns];
               set_zero(y, i, j, rows, columns);
               for (std::int64_t k = 0; k < x.columns; k += kTaskDepth) {
                 const std::int64_t depth = std::min(kTaskDepth, x.columns - k);
                 transpose(w.row(j) + k, w.columns, columns, depth, Real(1), transposed,
                           kTaskColumns);
                 add_product<Real>({x.row(i) + k, x.columns, 1}, transposed, kTaskColumns,
                                   y.row(i) + j, y.columns, rows, columns, depth);
               }
             });
}

template <class Real>
void linear_backward_input(Matrix<const Real> dy, Matrix<const Real> w, Matrix<Real> dx) {
  check_shape("w", w, dy.columns, dx.columns);
  check_shape("dx", dx, dy.rows, w.columns);
  for_blocks(dx.rows, dx.columns,
             [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
               set_zero(dx, i, j, rows, columns);
               for (std::int64_t k = 0; k < w.rows; k += kTaskDepth) {
                 const std::int64_t depth = std::min(kTaskDepth, w.rows - k);
                 add_product<Real>({dy.row(i) + k, dy.columns, 1}, w.row(k) + j, w.columns,
                                   dx.row(i) + j, dx.columns, rows, columns, depth);
               }
             });
}

template <class Real>
void linear_backward_weight(Matrix<const Real> dy, Matrix<const Real> x, Matrix<Real> dw) {
  check_shape("x", x, dy.rows, dw.columns);
  check_shape("dw", dw, dy.columns, x.columns);
  for_blocks(dw.rows, dw.columns,
             [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
               for (std::int64_t k = 0; k < x.rows; k += kTaskDepth) {
                 const std::int64_t depth = std::min(kTaskDepth, x.rows - k);
                 add_product<Real>({dy.row(k) + i, 1, dy.columns}, x.row(k) + j, x.columns,
                                   dw.row(i) + j, dw.columns, rows, columns, depth);
               }
             });
}

#define DUET_INSTANTIATE(Real)                                                                     \
  template void linear<Real>(Matrix<const Real>, Matrix<const Real>, Matrix<Real>);                \
  template void linear_backward_input<Real>(Matrix<const Real>, Matrix<const Real>, Matrix<Real>); \
  template void linear_backward_weight<Real>(Matrix<const Real>, Matrix<const Real>, Matrix<Real>);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
