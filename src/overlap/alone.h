#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "overlap/energy.h"
#include "overlap/engines.h"
#include "overlap/scenario.h"
#include "timing/beside_sampler.h"

namespace duet {

// Median times of a scenario's works when each runs alone. Each time is measured at the first
// request and kept until begin() is called for another scenario.
class AloneTimes {
 public:
  // All arguments must outlive this object. `energy` null: no energy is measured.
  AloneTimes(OverlapEngines& engines, const BesideMode& mode, EnergyProbe* energy,
             const std::function<bool()>& stop)
      : engines_(engines), mode_(mode), energy_(energy), stop_(stop) {}

  // Starts a scenario: discards the times of any other scenario.
  void begin(const OverlapScenario& scenario);

  // Median seconds of a side alone, on `units` compute units (0: all) or by the given engine. They
  // throw Unavailable where the machine does not have the engine, and what the works throw.
  double compute(const OverlapScenario& scenario, int units);
  double communication(const OverlapScenario& scenario, const std::string& engine);

  double copy(const OverlapScenario& scenario);  // 0: it has none

  // The shortest time of the compute side on all units and on each of `units`.
  double least_compute(const OverlapScenario& scenario, const std::vector<int>& units);
  // The shortest time of the communication side over OverlapEngines::usual() and others(). Engines
  // that fail are left out.
  double least_communication(const OverlapScenario& scenario);

  // The names under which the energy probe keeps the energy of a work on all units.
  static std::string compute_name(const OverlapScenario& scenario);
  static std::string communication_name(const OverlapScenario& scenario, const std::string& engine);
  static std::string copy_name(const OverlapScenario& scenario);

 private:
  double median(Work& work, const Placement& placement, const std::string& name);

  OverlapEngines& engines_;
  BesideMode mode_;
  EnergyProbe* energy_;
  const std::function<bool()>& stop_;
  std::string scenario_;
  std::map<int, double> compute_;                // by units
  std::map<std::string, double> communication_;  // by engine
  std::optional<double> copy_;
  std::set<std::string> lacking_;  // engines that cannot run it
};

}  // namespace duet
