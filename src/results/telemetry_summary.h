#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "device/device.h"

namespace duet {

// The "telemetry" of a record: mean, minimum and maximum of power, clocks and temperature while a
// case ran, the energy used, and the throttle reasons seen. Quantities that the device does not
// report (0) are left out.
nlohmann::ordered_json telemetry_to_json(const std::vector<Telemetry>& readings);

}  // namespace duet
