#pragma once

#include <string>
#include <vector>

#include "timing/energy_meter.h"

namespace duet {

// The energy counters of a team's devices.
struct EnergySource {
  std::vector<EnergyCounter> counters;
  double watts_limit = 0;   // sum of all devices' power caps; 0: not known
  std::string unavailable;  // the reason why energy cannot be measured; "" if it can
};

// The devices must outlive the result.
EnergySource energy_source(Team& team);

}  // namespace duet
