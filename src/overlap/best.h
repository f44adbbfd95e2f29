// Which policy was the fastest, scenario by scenario.
#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// A derived measurement (benchmark overlap_best) for each scenario with two finished cases of the
// benchmark `overlap` or more, in their order: the fastest policy as axis `policy`, its time as
// rate `best_seconds`, and as `ahead` the time of the fastest one of another kind over it. A
// point of a sweep and the sweep's best are of one kind.
std::vector<Measurement> fastest_policies(const std::vector<Finished>& finished);

}  // namespace duet
