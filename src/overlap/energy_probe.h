// Takes the energy of what the runner measures, where the devices count it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "overlap/energy.h"
#include "timing/power_draw.h"

namespace duet {

struct EnergySource {
  std::vector<EnergyCounter> counters;
  double watts_limit = 0;   // of all devices; 0: not known
  std::string unavailable;  // why there is no energy to take, "" if there is
};

// The ranks' devices, which must outlive it.
EnergySource energy_source(Team& team);

class EnergyProbe {
 public:
  // Every reading takes at least so many seconds; `stop` is asked while nothing runs.
  EnergyProbe(EnergySource source, double seconds, double deadline_seconds,
              std::function<bool()> stop);

  const std::string& unavailable() const { return source_.unavailable; }

  // For a sampler: takes the energy of its Works under this name. Nothing where there is none.
  AfterSamples take(const std::string& name);

  // Of what was taken under these names. Throws BadArgument for one that was not.
  OverlapDraw draw(const std::string& together, const std::string& compute,
                   const std::string& communication) const;

 private:
  const PowerDraw& taken(const std::string& name) const;
  void measure_idle();

  EnergySource source_;
  double seconds_, deadline_seconds_;
  std::function<bool()> stop_;
  std::map<std::string, PowerDraw> taken_;
  PowerDraw idle_;  // watts of 0: not measured yet
};

}  // namespace duet
