#include "training/host/quantise.h"

#include <array>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "training/host/product.h"

namespace duet {
namespace {

std::array<float, 256> values_of(DType fp8) {
  std::array<float, 256> values{};
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    values[bits] = load(fp8, &byte);
  }
  return values;
}

std::vector<float> decoded(const Matrix<const std::uint8_t>& matrix, DType fp8) {
  static const std::array<float, 256> e4m3 = values_of(DType::fp8_e4m3),
                                      e5m2 = values_of(DType::fp8_e5m2);
  const std::array<float, 256>& values = fp8 == DType::fp8_e5m2 ? e5m2 : e4m3;
  std::vector<float> all(static_cast<std::size_t>(matrix.rows * matrix.columns));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = values[matrix.data[i]];
  return all;
}

}  // namespace

float largest_magnitude(const float* x, std::int64_t count) {
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float magnitude = std::fabs(x[i]);
    if (std::isnan(magnitude)) return magnitude;
    largest = std::max(largest, magnitude);
  }
  return largest;
}

void quantise(Matrix<const float> x, float factor, DType fp8, std::uint8_t* values,
              std::uint8_t* transposed) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) {
      std::uint8_t byte;
      store(fp8, &byte, x.row(i)[j] * factor);
      if (values != nullptr) values[i * x.columns + j] = byte;
      if (transposed != nullptr) transposed[j * x.rows + i] = byte;
    }
  }
}

void multiply_quantised(Matrix<const std::uint8_t> a, DType a_type, Matrix<const std::uint8_t> b,
                        float scale, const float* addend, float* y) {
  check_shape("b", b, b.rows, a.columns);
  const std::int64_t m = a.rows, n = b.rows, k = a.columns;
  const std::vector<float> left = decoded(a, a_type), right = decoded(b, DType::fp8_e4m3);
  std::vector<float> turned(right.size());
  transpose(right.data(), k, n, k, 1.0f, turned.data(), n);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<float> sums(static_cast<std::size_t>(n));
    add_product<float>({left.data() + i * k, k, 1}, turned.data(), n, sums.data(), n, 1, n, k);
    for (std::int64_t j = 0; j < n; ++j) {
      const float sum = scale * sums[static_cast<std::size_t>(j)];
      y[i * n + j] = addend == nullptr ? sum : addend[i * n + j] + sum;
    }
  }
}

}  // namespace duet
