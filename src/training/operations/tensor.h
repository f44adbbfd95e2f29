#pragma once

#include <cstdint>

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

inline bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rows == b.rows && a.columns == b.columns;
}

}  // namespace duet
