// Measures a scenario under a policy: each side alone, and both together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "overlap/alone.h"
#include "overlap/energy_probe.h"
#include "overlap/engines.h"
#include "overlap/metrics.h"
#include "overlap/policy.h"
#include "overlap/scenario.h"
#include "timing/pair_sampler.h"

namespace duet {

struct OverlapResult {
  OverlapTimes times;  // medians
  OverlapMetrics metrics;
  Balance balance = Balance::gc_equal;
  OverlapPolicy policy;   // that was measured: of a sweep, its best
  std::string engine;     // of the side that communicates
  std::string algorithm;  // of a GEMM that computes
  PairSampling together;  // where compute is the first side, or not:
  bool compute_first = true;
  std::optional<OverlapDraw> draw;  // where energy is taken, and the devices count it
};

struct OverlapRuns {
  PairMode mode;
  std::vector<int> sweep;     // units that partitions keep for communication, where none are named
  double energy_seconds = 0;  // above 0: takes the energy of every run, in readings of so many
                              // seconds; where devices count none, runs get a warning
};

class OverlapRunner {
 public:
  // On all devices of the machine, which must outlive it, in one process. `stop` is asked between
  // iterations.
  explicit OverlapRunner(Machine& machine, OverlapRuns runs = {}, std::function<bool()> stop = {});

  // What a side takes alone is measured when a scenario first comes, by each engine and in each
  // partition of the sweep; so is each point of a sweep. Throws UsageError for a scenario that does
  // not fit the ranks or a partition that does not fit the devices, Unavailable for what the
  // machine does not have, and what the works throw; the next run opens engines anew then.
  OverlapResult run(const OverlapScenario& scenario, const OverlapPolicy& policy);

  OverlapEngines& engines() { return engines_; }

 private:
  OverlapResult measure(const OverlapScenario& scenario, const OverlapPolicy& policy);
  void require_possible(const OverlapPolicy& policy, const OverlapScenario& scenario,
                        const std::string& engine) const;
  OverlapResult best_of_sweep(const OverlapScenario& scenario, OverlapPolicy::Kind kind);
  const OverlapResult& point(const OverlapScenario& scenario, const OverlapPolicy& policy);
  void measure_together(const OverlapScenario& scenario, OverlapResult& result);
  void add_energy(OverlapResult& result, const OverlapScenario& scenario, double wire_bytes) const;

  OverlapRuns runs_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
  std::unique_ptr<EnergyProbe> energy_;  // none: not asked for
  AloneTimes alone_;
  std::string scenario_;
  std::map<std::string, OverlapResult> points_;  // of the scenario's sweeps, by policy
};

}  // namespace duet
