// Where copy engines overtake the kernel, by what was measured.
#pragma once

#include <optional>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "timing/measurement.h"

namespace duet {

// One collective's times at one size, by both of `auto`'s ways.
struct WayTimes {
  std::uint64_t bytes = 0;
  double kernel_seconds = 0;
  double dma_seconds = 0;
};

// The size from which on copy engines stay at least as fast: between the last size at which the
// kernel is faster and the next, where the ratio of their times passes 1 on logarithmic scales,
// rounded to an eighth of a power of two. 0 where they always are, kNever where the kernel is
// faster at the largest size. `times` by rising size, at least one.
std::uint64_t changeover(const std::vector<WayTimes>& times);

// Of every collective that was measured by the engines `kernel` and `dma` at the same sizes; what
// else varied (in place, types) counts together.
Thresholds changeovers(const std::vector<Finished>& finished);

}  // namespace duet
