#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "overlap/energy.h"
#include "timing/energy_meter.h"
#include "timing/power_draw.h"

namespace duet {

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
