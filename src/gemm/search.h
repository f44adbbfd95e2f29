// Looking for the shape with the highest rate: the "maximum achievable" FLOP rate of a device.
#pragma once

#include <cstdint>
#include <functional>

#include "gemm/shapes.h"

namespace duet {

struct SearchLimits {
  std::int64_t smallest = 1024;  // side
  std::int64_t largest = 32768;
  int trials = 32;  // shapes that are measured, at most
};

struct SearchResult {
  GemmShape shape;  // m = 0: no shape had a rate
  double rate = 0;
  int trials = 0;
};

// `rate` measures a shape; 0 means that it cannot run or takes too long, and that larger ones need
// not be tried. Cubes by powers of two first; from the best of them one side at a time is changed,
// by a factor of 2 and then of 1.5, as long as that helps. Sides are multiples of 256.
SearchResult search_shapes(const SearchLimits& limits,
                           const std::function<double(const GemmShape&)>& rate);

}  // namespace duet
