// Checks of the results of GEMMs, for works that fill C with poison before a call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/engine.h"

namespace duet {

// The poison byte. An element made of it is NaN as a floating-point number and -2139062144 as
// int32, which no product has.
std::uint64_t poison(DType output);

std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype);

// Throws Mismatch if an element of C, which has `columns` columns, still consists of poison. A C
// above 1 GiB is searched in evenly spread pieces. `whose` begins the message: "cublas on cuda:0:
// 8x8x8 bf16 nn".
void require_written(Device& device, const Span& c, std::int64_t columns, DType output,
                     const std::string& whose);

// Throws Mismatch unless sampled_rows() of C, and of aux where the problem has one, are near the
// reference. `initial`: these rows of C before the call, if it accumulates; otherwise empty.
void require_rows(Device& device, const GemmProblem& problem, const GemmBuffers& buffers,
                  const std::vector<double>& initial, const std::string& whose);

}  // namespace duet
