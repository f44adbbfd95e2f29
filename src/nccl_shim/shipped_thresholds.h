// Thresholds that the library brings with it (specs/tuning), for programs that set none.
#pragma once

#include <string>

#include "nccl_shim/settings.h"

namespace duet::nccl_shim {

// Those of the variables if any is set, else those that are shipped for so many ranks on devices of
// this model, as the driver names it. Empty if none are.
Thresholds thresholds_for(const std::string& model, int ranks);

}  // namespace duet::nccl_shim
