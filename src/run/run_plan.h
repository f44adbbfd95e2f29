#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/runner.h"

namespace duet {

// The machines that a run measures, and the benchmarks on them.
struct RunPlan {
  std::vector<std::unique_ptr<Machine>> machines;  // outlive the jobs
  std::vector<Job> jobs;
  Processes* processes = nullptr;  // nullptr: the run has this process alone
  std::vector<std::string> names;  // by machine, replacing their own names; empty: their own
  bool suite = false;              // shows one line for each benchmark, unless flags ask for more
  bool own_processes = false;      // this process started the others itself
};

// The number of processes of the run, this one included.
int process_count(const RunPlan& plan);

// Adds a job to the plan: the benchmark on a machine, each case once. Adds nothing if the benchmark
// has no cases. `name` replaces the machine's name unless it is "".
void add_job(RunPlan& plan, Machine& machine, Benchmark benchmark, const std::string& name = "");

}  // namespace duet
