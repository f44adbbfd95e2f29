// The expected result of a GEMM: rows of C in double, computed by the CPU, and the tolerance.
#pragma once

#include <cstdint>
#include <vector>

#include "gemm/engine.h"

namespace duet {

// A GemmReference for devices whose memory the CPU reads directly or can copy back.
std::vector<double> reference_by_cpu(Device& device, const GemmProblem& problem,
                                     const GemmBuffers& buffers,
                                     const std::vector<std::int64_t>& rows);

// The same on host memory. `a` holds only the `rows` rows to compute, as (rows, K) in every layout;
// `b` is stored as the problem's layout says. Returns (rows, N).
std::vector<double> reference_rows(const GemmProblem& problem, const std::byte* a,
                                   const std::byte* b, std::int64_t rows);

// The largest |C - expected| that counts as correct, for inputs of a standard normal distribution
// and expected = product + addend: the errors of rounding, plus that of the additions within the
// product. Rounding counts twice, because libraries round partial sums of a split K, and cuBLAS
// rounds the product before it adds to it, to the output's type. Integers are exact.
double tolerance(const GemmProblem& problem, double product, double addend = 0);

// A row of a matrix whose rows lie one behind the other, in memory of the device.
std::vector<double> row_values(Device& device, const Span& matrix, std::int64_t columns,
                               DType dtype, std::int64_t row);

// At most eight rows, the same on every call: the first, the last and some between.
std::vector<std::int64_t> sampled_rows(std::int64_t m);

}  // namespace duet
