#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "overlap/alone.h"
#include "overlap/energy.h"
#include "overlap/engines.h"
#include "overlap/metrics.h"
#include "overlap/policy.h"
#include "overlap/scenario.h"
#include "timing/beside_sampler.h"

namespace duet {

// What OverlapRunner measured for a scenario under a policy.
struct OverlapResult {
  OverlapTimes times;  // medians
  OverlapMetrics metrics;
  Balance balance = Balance::gc_equal;
  OverlapPolicy policy;   // the policy that was measured; for a sweep, its best point
  std::string engine;     // the engine of the communication side
  std::string algorithm;  // the algorithm of the compute side, if it is a GEMM
  BesideSampling together;
  bool compute_first = true;        // compute is the first Work of `together`; a copy is the last
  std::optional<OverlapDraw> draw;  // empty unless energy is measured and the devices count it

  // The places of the works among the Works of `together`.
  std::size_t compute_place() const { return compute_first ? 0 : 1; }
  std::size_t communication_place() const { return compute_first ? 1 : 0; }
  static constexpr std::size_t kCopyPlace = 2;
};

// How OverlapRunner measures.
struct OverlapRuns {
  BesideMode mode;
  // The numbers of communication units that are tried for a partition without a number.
  std::vector<int> sweep;
  // Above 0: measures the energy of every run, in readings of this many seconds. Where the devices
  // do not count energy, runs get a warning.
  double energy_seconds = 0;
};

// Measures a scenario under a policy: each work alone, and all together.
class OverlapRunner {
 public:
  // The ranks are those of OverlapEngines. The machine must outlive the runner. `stop` is called
  // between iterations; `true` ends the measurement. Energy is measured in one process only. The
  // constructor and run() are collective among processes.
  explicit OverlapRunner(Machine& machine, OverlapRuns runs = {}, std::function<bool()> stop = {},
                         const OverlapRanks& ranks = {});

  // Measures the scenario under the policy.
  // - The sides alone are measured once per scenario, by each engine and in each partition of the
  //   sweep. Each point of a sweep is measured once per scenario too.
  // - Throws UsageError for a scenario that does not fit the ranks or a partition that does not fit
  //   the devices, Unavailable for what the machine does not have, and what the works throw. After
  //   an error the next run opens new sessions.
  OverlapResult run(const OverlapScenario& scenario, const OverlapPolicy& policy);

  OverlapEngines& engines() { return engines_; }

 private:
  OverlapResult measure(const OverlapScenario& scenario, const OverlapPolicy& policy);
  void require_possible(const OverlapPolicy& policy, const OverlapScenario& scenario,
                        const std::string& engine) const;
  OverlapResult best_of_sweep(const OverlapScenario& scenario, OverlapPolicyKind kind);
  const OverlapResult& point(const OverlapScenario& scenario, const OverlapPolicy& policy);
  void measure_together(const OverlapScenario& scenario, OverlapResult& result);
  void add_energy(OverlapResult& result, const OverlapScenario& scenario, double wire_bytes) const;

  OverlapRuns runs_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
  std::unique_ptr<EnergyProbe> energy_;  // null: energy is not measured
  AloneTimes alone_;
  std::string scenario_;
  std::map<std::string, OverlapResult> points_;  // points of the scenario's sweeps, by policy name
};

}  // namespace duet
