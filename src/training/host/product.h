// The product of small matrices, of which the layers' larger products are made.
#pragma once

#include <algorithm>

#include "training/host/vectors.h"

namespace duet {

// Element (i, j) is data[i * row_step + j * column_step].
template <class Real>
struct Strided {
  const Real* data;
  std::int64_t row_step, column_step;
};

// c (kRows, columns) += a (kRows, depth) * b (depth, columns), columns <= 2 vectors.
template <int kRows, class Real>
DUET_INLINE void add_product_tile(const Strided<Real>& a, const Real* b, std::int64_t b_step,
                                  Real* c, std::int64_t c_step, std::int64_t columns,
                                  std::int64_t depth) {
  constexpr std::int64_t kWide = kLanes<Real>;
  const std::int64_t first = std::min(columns, kWide), second = columns - first;
  Vector<Real> sums[kRows][2];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Vector<Real>{};
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector<Real> left, right = {};
    load(left, b + k * b_step, first);
    if (second > 0) load(right, b + k * b_step + kWide, second);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Real factor = a.data[i * a.row_step + k * a.column_step];
      sums[i][0] += factor * left;
      sums[i][1] += factor * right;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    Vector<Real> old;
    load(old, c + i * c_step, first);
    store(c + i * c_step, Vector<Real>(old + sums[i][0]), first);
    if (second <= 0) continue;
    load(old, c + i * c_step + kWide, second);
    store(c + i * c_step + kWide, Vector<Real>(old + sums[i][1]), second);
  }
}

// c (rows, columns) += a (rows, depth) * b (depth, columns) for columns <= 2 vectors.
template <class Real>
DUET_INLINE void add_product_columns(Strided<Real> a, const Real* b, std::int64_t b_step, Real* c,
                                     std::int64_t c_step, std::int64_t rows, std::int64_t columns,
                                     std::int64_t depth) {
  constexpr int kRows = 8;
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows, a.data += kRows * a.row_step, c += kRows * c_step) {
    add_product_tile<kRows>(a, b, b_step, c, c_step, columns, depth);
  }
  for (; i < rows; ++i, a.data += a.row_step, c += c_step) {
    add_product_tile<1>(a, b, b_step, c, c_step, columns, depth);
  }
}

// c (rows, columns) += a (rows, depth) * b (depth, columns) on the calling thread. Rows of b begin
// b_step elements apart, rows of c c_step.
template <class Real>
void add_product(const Strided<Real>& a, const Real* b, std::int64_t b_step, Real* c,
                 std::int64_t c_step, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t kColumns = 2 * kLanes<Real>;
  on_widest_vectors([&]() DUET_INLINE_BODY {
    std::int64_t j = 0;
    for (; j + kColumns <= columns; j += kColumns) {
      add_product_columns(a, b + j, b_step, c + j, c_step, rows, kColumns, depth);
    }
    if (j < columns) {
      add_product_columns(a, b + j, b_step, c + j, c_step, rows, columns - j, depth);
    }
  });
}

// to (columns, to_step) = factor * transpose of from (rows, columns), whose rows begin from_step
// elements apart; zeros after the first `rows` elements of each row of `to`.
template <class Real>
void transpose(const Real* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns,
               Real factor, Real* to, std::int64_t to_step) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) to[j * to_step + i] = factor * from[i * from_step + j];
    std::fill(to + j * to_step + rows, to + (j + 1) * to_step, Real(0));
  }
}

}  // namespace duet
