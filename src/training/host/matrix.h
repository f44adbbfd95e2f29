// A row-major matrix that its caller owns, and checks of shapes.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/error.h"

namespace duet {

// Element (i, j) is data[i * columns + j]. What is only read is a Matrix<const Real>.
template <class T>
struct Matrix {
  T* data;
  std::int64_t rows, columns;

  T* row(std::int64_t i) const { return data + i * columns; }

  template <class U, class = std::enable_if_t<std::is_same_v<U, const T>>>
  operator Matrix<U>() const {
    return {data, rows, columns};
  }
};

// Throws BadArgument if `matrix`, called `name` in the message, is not (rows, columns).
template <class T>
void check_shape(const char* name, const Matrix<T>& matrix, std::int64_t rows,
                 std::int64_t columns) {
  if (matrix.rows == rows && matrix.columns == columns) return;
  const auto shape = [](std::int64_t m, std::int64_t n) {
    return "(" + std::to_string(m) + ", " + std::to_string(n) + ")";
  };
  throw BadArgument(std::string(name) + " must be " + shape(rows, columns) + ", but is " +
                    shape(matrix.rows, matrix.columns));
}

}  // namespace duet
