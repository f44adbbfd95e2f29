// The cases of `duet overlap`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "overlap/policy.h"
#include "overlap/runner.h"
#include "overlap/scenario.h"
#include "timing/measurement.h"
#include "timing/pair_sampler.h"

namespace duet {

struct OverlapOptions {
  std::vector<OverlapScenario> scenarios;
  // Of a partition that names no units the points of the sweep are cases as well, before their
  // best.
  std::vector<OverlapPolicy> policies;
  OverlapRuns runs;
  std::string device_name;  // --device, as the journal shows it
};

// A case for each scenario and policy. Its time is that of both sides together; what each takes
// alone is measured once a scenario and engine, before the first case that needs it. The machine
// must outlive the benchmark; `stop` is asked between iterations. Throws UsageError for scenarios
// that do not fit the machine's devices.
Benchmark overlap_benchmark(Machine& machine, const OverlapOptions& options,
                            std::function<bool()> stop);

}  // namespace duet
