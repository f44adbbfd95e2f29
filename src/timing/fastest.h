#pragma once

#include <cstddef>
#include <vector>

#include "timing/sampler.h"

namespace duet {

// The number of the fastest of some Works, by a trial of 50 ms each by turns. Otherwise as
// Sampler::measure_by_turns(), in the mode but for its time.
std::size_t fastest_by_trial(Sampler& sampler, const std::vector<Work*>& works, Mode mode);

}  // namespace duet
