// A suite is a list of benchmarks that `duet run` runs together.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "collectives/cases.h"
#include "copy/cases.h"
#include "fabric/cases.h"
#include "gemm/cases.h"
#include "overlap/cases.h"
#include "run/run_plan.h"
#include "training/cases.h"

namespace duet {

struct SuiteEntry {
  std::string device;     // as in --device
  bool if_there = false;  // left out if the device cannot be opened
  std::variant<GemmOptions, CopyOptions, CollectiveOptions, OverlapOptions, TrainingOptions,
               FabricOptions>
      options;
};

struct Suite {
  std::string name;
  std::string description;
  std::vector<SuiteEntry> entries;
};

std::vector<Suite> suites();

// The benchmarks of quick that have verdicts, shortened and on every device of a machine of this
// kind: one large GEMM, and copies at one size. `host`, `cuda`, `hip` or `sim`.
std::vector<SuiteEntry> health_entries(const std::string& kind);

std::string known_suites();  // "quick or seed"

// Throws UsageError that lists the known names.
Suite find_suite(const std::string& name);

// Adds an entry's benchmark, on a machine that the plan has opened, as a job. Adds nothing if the
// machine has too few devices for the benchmark, or no engine for its collectives. If a fabric
// cannot be opened, the job is one skipped case with the reason. `stop` lets a case end early.
void add_entry(RunPlan& plan, Machine& machine, const SuiteEntry& entry,
               const std::function<bool()>& stop);

}  // namespace duet
