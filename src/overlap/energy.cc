#include "overlap/energy.h"

namespace duet {

OverlapEnergy overlap_energy(const OverlapDraw& draw) {
  OverlapEnergy energy;
  energy.transfer_joules = draw.communication.joules - draw.idle_watts * draw.communication.seconds;
  if (draw.wire_bytes > 0) {
    const double gb = draw.wire_bytes / 1e9;
    energy.joules_per_gb = energy.transfer_joules / gb;
    energy.joules_per_gb_beside = (draw.together.joules - draw.compute.joules) / gb;
  }
  if (draw.watts_limit > 0) {
    energy.power_estimate_seconds =
        (draw.compute.joules + energy.transfer_joules) / draw.watts_limit;
  }
  return energy;
}

}  // namespace duet
