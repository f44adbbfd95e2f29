// Measures a scenario under a policy: each side alone, and both together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "collectives/open_sessions.h"
#include "gemm/engine.h"
#include "overlap/energy_probe.h"
#include "overlap/metrics.h"
#include "overlap/policy.h"
#include "overlap/scenario.h"
#include "timing/pair_sampler.h"

namespace duet {

struct OverlapResult {
  OverlapTimes times;  // medians
  OverlapMetrics metrics;
  Balance balance = Balance::gc_equal;
  std::string engine;     // of the collective
  PairSampling together;  // where compute is the first side, or not:
  bool compute_first = true;
  std::optional<OverlapDraw> draw;  // where energy is taken, and the devices count it
};

// The engines that a kind of device has for overlaps.
struct OverlapEngines {
  std::string vendor;    // the library that users take by default: C
  std::string zero_cta;  // its copy-engine mode
  std::string gemm;      // makes the same call each time
};
OverlapEngines overlap_engines(const std::string& device_kind);

class OverlapRunner {
 public:
  // On all devices of the machine, which must outlive it, in one process. `stop` is asked between
  // iterations. Throws Unavailable where the device has no engine for GEMMs.
  explicit OverlapRunner(Machine& machine, const PairMode& mode = {},
                         std::function<bool()> stop = {});

  // What a side takes alone is measured once a scenario and engine, before it is needed. Throws
  // UsageError for a scenario that does not fit the ranks, Unavailable for what the machine does
  // not have, and what the works throw; the next run starts with engines of its own then.
  OverlapResult run(const OverlapScenario& scenario, const OverlapPolicy& policy);

  // Takes the energy of every later run as well, in readings of at least so many seconds each. Runs
  // on devices that count none get a warning that says so.
  void take_energy(double seconds);

  // Whose collective a policy takes, whether or not the machine has it.
  std::string engine_name(const OverlapPolicy& policy) const;

 private:
  OverlapResult measure(const OverlapScenario& scenario, const OverlapPolicy& policy);
  CollectiveEngine& engine(const std::string& name) const;
  double alone(Work& piece, int pieces, const std::string& name);
  AfterSamples energy_of(const std::string& name);
  void add_energy(OverlapResult& result, const Work& communication, const std::string& scenario,
                  const std::string& policy) const;
  double compute_alone(const OverlapScenario& scenario);
  double communication_alone(const OverlapScenario& scenario, const std::string& engine);

  Machine& machine_;
  PairMode mode_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
  GemmEngine* gemm_ = nullptr;
  CollectiveEngines collectives_;
  OpenSessions sessions_;
  std::unique_ptr<EnergyProbe> energy_;                                  // none: not asked for
  std::map<std::string, double> compute_;                                // by scenario
  std::map<std::pair<std::string, std::string>, double> communication_;  // and by engine
};

}  // namespace duet
