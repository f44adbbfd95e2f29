// What every measuring command ends in: open the outputs, run the jobs, say how it went.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/runner.h"

namespace duet {

struct Plan {
  std::vector<std::unique_ptr<Machine>> machines;  // outlive the jobs
  std::vector<Job> jobs;
  Processes* processes = nullptr;  // of the run, where the command may have several
  std::vector<std::string> names;  // of the machines, where they are not their own
  bool suite = false;              // shows a line a benchmark, unless --verbose asks for tables
  bool own_processes = false;      // the command itself starts the others
};

// A benchmark on a machine of the plan as a job of it; `name` is the machine's unless given.
void add_job(Plan& plan, Machine& machine, Benchmark benchmark, const std::string& name = "");

// All input has been checked when this is called; files are made here. Returns the exit code.
// Throws UsageError, and then has left no file behind. Of several processes all call it and get the
// same exit code; only process 0 writes, shows and reads files.
int measure(const Plan& plan, const OutputFlags& flags, const std::vector<std::string>& command);

}  // namespace duet
