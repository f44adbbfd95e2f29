// The sides of scenarios alone, on all of the device's units and on fewer: the ConCCL paper's
// isolated picture (its Figures 5 to 7).
#pragma once

#include <functional>
#include <vector>

#include "device/machine.h"
#include "overlap/peaks.h"
#include "overlap/scenario.h"
#include "timing/measurement.h"
#include "timing/pair_sampler.h"

namespace duet {

struct IsolatedOptions {
  std::vector<OverlapScenario> scenarios;  // whose sides are measured, each once
  DevicePeaks peaks;                       // what classes are judged by
  PairMode mode;                           // of a side alone
  std::string device_name;
};

// Cases of the benchmark overlap_isolated: each GEMM with 0, 8, 16, 32 ... units taken, up to a
// quarter of the device; each collective by the library that users take by default on all units and
// on as many as that, and by copy engines, its own mode of them included. Concludes with an
// overlap_isolated_pair a scenario: its ideal speedup. The machine must outlive the benchmark;
// `stop` is asked between iterations. Throws UsageError for scenarios that do not fit the machine,
// Unavailable without an engine for GEMMs.
Benchmark isolated_benchmark(Machine& machine, const IsolatedOptions& options,
                             std::function<bool()> stop);

}  // namespace duet
