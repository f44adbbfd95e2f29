#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// A recommendation for each group of two or more cases that differ in the rail mode alone: among
// the modes within 2% of the fastest the one that posts least (single, then round_robin, then
// split). Its rate times_as_fast is relative to `single`, or to the slowest mode where that was not
// measured.
std::vector<Measurement> recommend_rails(const std::vector<Finished>& finished);

}  // namespace duet
