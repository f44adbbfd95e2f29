// Searches for the shape with the highest rate: the "maximum achievable" FLOP rate of a device.
#pragma once

#include <cstdint>
#include <functional>

#include "gemm/shapes.h"

namespace duet {

struct SearchLimits {
  std::int64_t smallest = 1024;  // smallest and largest side: M, N and K
  std::int64_t largest = 32768;
  int trials = 32;  // the most shapes to measure
};

struct SearchResult {
  GemmShape shape;  // m = 0: no shape had a rate
  double rate = 0;
  int trials = 0;
};

// `rate` measures a shape. It returns 0 if the shape cannot run or takes too long; larger cubes are
// then not tried. The search measures cubes by powers of two first. From the best cube it changes
// one side at a time, by a factor of 2 and then of 1.5, as long as the rate grows. Changed sides
// are multiples of 256.
SearchResult search_shapes(const SearchLimits& limits,
                           const std::function<double(const GemmShape&)>& rate);

}  // namespace duet
