#include "training/operations/fp8_rows.h"

#include <cstring>

#include "core/dtype.h"
#include "training/host/quantise.h"
#include "training/operations/operation.h"

namespace duet {

void quantise_row(const float* x, std::int64_t columns, std::uint8_t* y) {
  std::uint8_t* scales = y + columns;
  for (std::int64_t first = 0; first < columns; first += kScaledElements) {
    const Quantisation by =
        quantisation(largest_magnitude(x + first, kScaledElements), kLargestE4M3);
    for (std::int64_t i = first; i < first + kScaledElements; ++i)
      store(DType::fp8_e4m3, y + i, x[i] * by.factor);
    std::memcpy(scales, &by.scale, sizeof by.scale);
    scales += sizeof by.scale;
  }
}

void dequantise_row(const std::uint8_t* x, std::int64_t columns, float* y) {
  const std::uint8_t* const scales = x + columns;
  for (std::int64_t i = 0; i < columns; ++i) {
    float scale = 0;
    std::memcpy(&scale, scales + i / kScaledElements * sizeof scale, sizeof scale);
    y[i] = load(DType::fp8_e4m3, x + i) * scale;
  }
}

}  // namespace duet
