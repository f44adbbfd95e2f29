// One row in fp8, as QuantiseRows and GatherFp8Rows have them, on a CPU.
#pragma once

#include <cstdint>

namespace duet {

// `columns`: of the row, a multiple of kScaledElements; `y` has bytes_of_fp8_row(columns).
void quantise_row(const float* x, std::int64_t columns, std::uint8_t* y);
void dequantise_row(const std::uint8_t* x, std::int64_t columns, float* y);

}  // namespace duet
