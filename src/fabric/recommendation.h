// Which mode of rails a run recommends, message size by message size.
#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// Of every two or more cases that differ in the mode of rails alone: the fastest mode; of those
// within 2% of it the one that posts least (single, round_robin, split). Its rate times_as_fast is
// against `single`, or the slowest mode where that was not measured.
std::vector<Measurement> recommend_rails(const std::vector<Finished>& finished);

}  // namespace duet
