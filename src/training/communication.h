#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// train_communication: of each engine of parallel steps that were also measured without sums of
// gradients (kNoEngine), what communication costs.
// - sums_seconds: of a step's sums with nothing beside them;
// - exposed_seconds: by how much the step is longer than one without sums, below 0 by noise;
// - hidden_percent: the share of sums_seconds by which the step is not longer.
std::vector<Measurement> conclude_training(const std::vector<Finished>& finished);

}  // namespace duet
