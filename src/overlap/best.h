#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// The fastest policy of each scenario that has at least two finished cases of the benchmark
// `overlap`, in the order of the scenarios. Each result is a derived measurement of the benchmark
// overlap_best:
// - axis `policy`: the fastest policy;
// - rate `best_seconds`: its time;
// - rate `ahead`: the time of the fastest policy of another kind, divided by best_seconds. All
//   points of a sweep and the sweep's best policy are of one kind.
std::vector<Measurement> fastest_policies(const std::vector<Finished>& finished);

}  // namespace duet
