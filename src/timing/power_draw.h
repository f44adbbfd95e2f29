// The mean power of repeated iterations, and from it the energy of one iteration.
#pragma once

#include "timing/energy_meter.h"
#include "timing/sampler.h"

namespace duet {

struct PowerDraw {
  double watts = 0;       // of all devices together
  double resolution = 0;  // relative error of watts: changes of a counter are seen late
  double seconds = 0;     // mean time from the start of an iteration to the start of the next
  double busy = 0;        // the part of `seconds` in which the iteration ran

  // Joules of one iteration. Between iterations the devices are taken to draw `idle_watts`.
  double joules(double idle_watts) const { return watts * seconds - idle_watts * (seconds - busy); }
};

// Calls `again` for 0.3 s, until power is steady. Then measures while it calls `again`, until the
// first and last change of every counter are at least `seconds` apart and the resolution is within
// 2%. Throws Timeout, which names the slowest device, if this takes longer than `seconds` +
// `deadline_seconds`; and what `again` throws.
PowerDraw power_draw(const std::vector<EnergyCounter>& counters, double seconds,
                     double deadline_seconds, const RunAgain& again);

}  // namespace duet
