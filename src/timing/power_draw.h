// The mean power of what runs again and again, and with it the energy of one iteration.
#pragma once

#include "timing/energy_meter.h"
#include "timing/rerun.h"

namespace duet {

struct PowerDraw {
  double watts = 0;       // of all devices together
  double resolution = 0;  // by which share they may be off: how late changes of a counter are seen
  double seconds = 0;     // from one iteration's start to the next one's
  double busy = 0;        // of them the iteration's own

  // Joules of one iteration. Between iterations devices draw what they draw idle.
  double joules(double idle_watts) const { return watts * seconds - idle_watts * (seconds - busy); }
};

// Runs again and again, for 0.3 s until power is steady, and then until every counter has changed
// twice at least so many seconds apart, and the resolution is within 2%. Throws Timeout naming the
// device whose counter has not by the deadline after that, and what `again` throws.
PowerDraw power_draw(const std::vector<EnergyCounter>& counters, double seconds,
                     double deadline_seconds, const RunAgain& again);

}  // namespace duet
