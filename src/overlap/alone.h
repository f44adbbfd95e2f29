// What each side of a scenario takes by itself.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "overlap/energy_probe.h"
#include "overlap/engines.h"
#include "overlap/scenario.h"
#include "timing/pair_sampler.h"

namespace duet {

// Of the scenario that is being measured; each figure is measured once, when it is first asked for.
class AloneTimes {
 public:
  // All must outlive it; no energy is taken where `energy` is null.
  AloneTimes(OverlapEngines& engines, const PairMode& mode, EnergyProbe* energy,
             const std::function<bool()>& stop)
      : engines_(engines), mode_(mode), energy_(energy), stop_(stop) {}

  // Forgets another scenario's.
  void begin(const OverlapScenario& scenario);

  // Median seconds. Throw what the works throw, Unavailable where the machine lacks the engine.
  double compute(const OverlapScenario& scenario, int units);
  double communication(const OverlapScenario& scenario, const std::string& engine);

  // Over all units and those that the partitions leave.
  double least_compute(const OverlapScenario& scenario, const std::vector<int>& units);
  // Over the usual engine and all others that the machine has.
  double least_communication(const OverlapScenario& scenario);

  // What energy is taken under, of a side on all units.
  static std::string compute_name(const OverlapScenario& scenario);
  static std::string communication_name(const OverlapScenario& scenario, const std::string& engine);

 private:
  double median(Work& work, const Placement& placement, const std::string& name);

  OverlapEngines& engines_;
  PairMode mode_;
  EnergyProbe* energy_;
  const std::function<bool()>& stop_;
  std::string scenario_;
  std::map<int, double> compute_;                // by units
  std::map<std::string, double> communication_;  // by engine
  std::set<std::string> lacking_;                // engines that cannot run it
};

}  // namespace duet
