#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// train_communication: of each engine of parallel steps that were also measured without
// communication (kNoEngine), what it costs.
// - communication_seconds: of a step's collectives with nothing beside them;
// - exposed_seconds: by how much the step is longer than one without them, below 0 by noise;
// - hidden_percent: the share of communication_seconds by which the step is not longer.
std::vector<Measurement> conclude_training(const std::vector<Finished>& finished);

}  // namespace duet
