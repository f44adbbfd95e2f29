// A suite is a list of benchmarks that `duet run` runs together, of all workloads that have an
// entry for it.
#pragma once

#include <string>
#include <vector>

#include "run/run_plan.h"
#include "workload/workload.h"

namespace duet {

struct Suite {
  std::string name;
  std::string description;
  std::vector<std::string> kinds;  // of devices, in the order in which they are measured
};

std::vector<Suite> suites();

std::string known_suites();  // "quick or seed"

// Throws UsageError that lists the known names.
Suite find_suite(const std::string& name);

// Of each kind of device the workloads' entries, in the order of workloads().
std::vector<SuiteEntry> entries_of(const Suite& suite);

// What `duet health` measures on CPUs, or on GPUs: benchmarks that have verdicts, shortened and on
// every device.
std::vector<SuiteEntry> health_entries(bool of_cpu);

// Adds an entry's benchmark, on a machine that the plan has opened, as a job. Adds nothing if the
// entry has none for this machine. `stop` lets a case end early.
void add_entry(RunPlan& plan, Machine& machine, const SuiteEntry& entry,
               const std::function<bool()>& stop);

}  // namespace duet
