#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "overlap/policy.h"
#include "overlap/runner.h"
#include "overlap/scenario.h"
#include "timing/beside_sampler.h"
#include "timing/measurement.h"

namespace duet {

struct OverlapOptions {
  std::vector<OverlapScenario> scenarios;
  // A partition without a number of units stands for a sweep: each of its points is a case,
  // followed by the case of the best point.
  std::vector<OverlapPolicy> policies;
  OverlapRuns runs;
  std::string device_name;  // --device, as the journal shows it
  OverlapRanks ranks;
};

// The benchmark `overlap`: a case for each scenario and policy. A case's time is that of both sides
// together. The times of the sides alone are measured once per scenario and engine, before the
// first case that needs them. The machine must outlive the benchmark. Collective among processes,
// the cases as well. `stop` is called between
// iterations; `true` ends the measurement. Throws UsageError for scenarios that do not fit the
// ranks.
Benchmark overlap_benchmark(Machine& machine, const OverlapOptions& options,
                            std::function<bool()> stop);

// The fastest policy of each scenario that has at least two finished cases of the benchmark
// `overlap`, in the order of the scenarios. Each result is a derived measurement of the benchmark
// overlap_best:
// - axis `policy`: the fastest policy;
// - rate `best_seconds`: its time;
// - rate `ahead`: the time of the fastest policy of another kind, divided by best_seconds. All
//   points of a sweep and the sweep's best policy are of one kind.
std::vector<Measurement> fastest_policies(const std::vector<Finished>& finished);

}  // namespace duet
