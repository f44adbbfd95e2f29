// What a record says of the clocks and the power while a case ran.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "device/device.h"

namespace duet {

// Means, extremes and the throttle reasons that were seen; quantities that were never read (0) are
// left out.
nlohmann::ordered_json telemetry_to_json(const std::vector<Telemetry>& readings);

}  // namespace duet
