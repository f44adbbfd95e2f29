// Sides of scenarios alone, on all compute units of the device and on fewer. This is the isolated
// analysis of the ConCCL paper (its Figures 5 to 7).
#pragma once

#include <functional>
#include <vector>

#include "device/machine.h"
#include "overlap/peaks.h"
#include "overlap/scenario.h"
#include "timing/beside_sampler.h"
#include "timing/measurement.h"

namespace duet {

struct IsolatedOptions {
  std::vector<OverlapScenario> scenarios;  // each different side is measured once
  DevicePeaks peaks;                       // decide whether a GEMM is bound by compute or memory
  BesideMode mode;
  std::string device_name;
};

// The benchmark overlap_isolated. Its cases:
// - each GEMM with 0, 8, 16, 32 ... compute units withheld, up to a quarter of the device;
// - each collective by the vendor's library on all units and on 8, 16, 32 ... units;
// - each collective by copy engines: by `dma` and by the library's copy-engine mode.
// It concludes with one overlap_isolated_pair per scenario, which has the ideal speedup. The
// machine must outlive the benchmark. `stop` is called between iterations; `true` ends the
// measurement. Throws UsageError for scenarios that do not fit the machine, and Unavailable where
// the machine has no engine for GEMMs.
Benchmark isolated_benchmark(Machine& machine, const IsolatedOptions& options,
                             std::function<bool()> stop);

}  // namespace duet
