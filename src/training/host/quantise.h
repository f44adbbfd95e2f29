// Tensors in fp8 on a CPU.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "training/host/matrix.h"

namespace duet {

// The largest absolute value of `count` elements, NaN where one is NaN.
float largest_magnitude(const float* x, std::int64_t count);

// x * factor in a type of fp8, of x's shape in `values`, and of the transposed shape in
// `transposed`; nullptr: not wanted.
void quantise(Matrix<const float> x, float factor, DType fp8, std::uint8_t* values,
              std::uint8_t* transposed);

// y (m, n) = scale * a (m, k) b^T + addend, b (n, k) in E4M3, products and sums in fp32; without an
// addend where that is nullptr. It may be y.
void multiply_quantised(Matrix<const std::uint8_t> a, DType a_type, Matrix<const std::uint8_t> b,
                        float scale, const float* addend, float* y);

}  // namespace duet
