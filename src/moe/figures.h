// What records of layers say beside their times.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "moe/moe_work.h"
#include "timing/measurement.h"
#include "timing/sampler.h"

namespace duet {

using MoePhaseTimes = std::vector<std::pair<std::string, double>>;  // seconds, by name

// `sampled`: of the case, of the experts alone and, of an overlap, of the same without it. Adds
// what the layer adds to its experts, what of that an overlap hides, and the phases.
void add_moe_times(Measurement& result, const std::vector<Sampling>& sampled,
                   const MoePhaseTimes& phases);

// What moves in the first call, and how fast.
void add_moe_rows(Measurement& result, const MoeWork& work, const MoePhaseTimes& phases);

}  // namespace duet
