// Whether a matrix holds the product that it should: for the work of `duet gemm`, and for others
// that multiply on buffers of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gemm/engine.h"

namespace duet {

// The byte that a poisoned C consists of. An element of it is NaN as a floating-point number and
// -2139062144 as int32, which no product has.
std::uint64_t product_poison(DType output);

struct CheckedProduct {
  std::string engine;  // for messages
  Device& device;
  const GemmProblem& problem;
  GemmBuffers buffers;
  // sampled_rows() of C before the call, one behind the other, if it accumulates; else empty.
  std::vector<double> initial = {};
};

// The stream is idle, the inputs are of a standard normal distribution, and C was poisoned unless
// it accumulates. Throws Mismatch if an element was never written, or one of sampled_rows() is not
// near the reference.
void require_product(const CheckedProduct& product);

}  // namespace duet
