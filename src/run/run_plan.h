// What one run measures: machines, and benchmarks on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/runner.h"

namespace duet {

struct RunPlan {
  std::vector<std::unique_ptr<Machine>> machines;  // outlive the jobs
  std::vector<Job> jobs;
  Processes* processes = nullptr;  // of the run, where it may have several
  std::vector<std::string> names;  // of the machines, where they are not their own
  bool suite = false;              // shows a line a benchmark, unless more is asked for
  bool own_processes = false;      // this process itself started the others
};

// 1 where the run has no others.
int process_count(const RunPlan& plan);

// A benchmark on a machine of the plan as a job of it, each case once; none where the benchmark has
// no cases. `name` is the machine's unless given.
void add_job(RunPlan& plan, Machine& machine, Benchmark benchmark, const std::string& name = "");

}  // namespace duet
