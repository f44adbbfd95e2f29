#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "device/buffer.h"

namespace duet {

// A row-major matrix in memory of a device. Of activations, a row is a token.
struct Tensor {
  Span span;
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::fp32;

  std::int64_t count() const { return rows * columns; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count()) * size_of(dtype); }
};

// first <= row < last.
struct RowRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first; }
};

inline Tensor rows_of(const Tensor& matrix, const RowRange& rows) {
  Tensor part{{}, rows.count(), matrix.columns, matrix.dtype};
  const Tensor before{{}, rows.first, matrix.columns, matrix.dtype};
  part.span = matrix.span.slice(before.bytes(), part.bytes());
  return part;
}

// Which part of a larger matrix a matrix is: some columns of ranges of its rows, one after the
// other.
struct MatrixPart {
  std::int64_t rows = 0, columns = 0;  // of the larger one; 0: the matrix is all of it
  std::vector<RowRange> ranges;
  std::int64_t first_column = 0, own_columns = 0;  // adjacent ones, so many

  bool is_whole() const { return rows == 0; }
};

inline bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rows == b.rows && a.columns == b.columns;
}

}  // namespace duet
