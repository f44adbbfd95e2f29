#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "overlap/energy.h"
#include "timing/power_draw.h"

namespace duet {

// The energy counters from which an EnergyProbe reads.
struct EnergySource {
  std::vector<EnergyCounter> counters;
  double watts_limit = 0;   // sum of all devices' power caps; 0: not known
  std::string unavailable;  // the reason why energy cannot be measured; "" if it can
};

// The counters of the ranks' devices. The devices must outlive the result.
EnergySource energy_source(Team& team);

// Measures the energy of the works that OverlapRunner runs, on devices that count energy.
class EnergyProbe {
 public:
  // Every reading lasts at least `seconds`. `stop` is called while nothing runs; `true` ends the
  // reading.
  EnergyProbe(EnergySource source, double seconds, double deadline_seconds,
              std::function<bool()> stop);

  const std::string& unavailable() const { return source_.unavailable; }

  // A function for a sampler, which measures the energy of the sampler's works and keeps it under
  // `name`. Empty where energy cannot be measured.
  AfterSamples take(const std::string& name);

  // The energies that were kept under these names. Throws BadArgument for an unknown name.
  OverlapDraw draw(const std::string& together, const std::string& compute,
                   const std::string& communication) const;

 private:
  const PowerDraw& taken(const std::string& name) const;
  void measure_idle();

  EnergySource source_;
  double seconds_, deadline_seconds_;
  std::function<bool()> stop_;
  std::map<std::string, PowerDraw> taken_;
  PowerDraw idle_;  // 0 W: not measured yet
};

}  // namespace duet
