// What every measuring command ends in: open the outputs, run the jobs, say how it went.
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "run/run_plan.h"

namespace duet {

// All input has been checked when this is called; files are made here. Returns the exit code.
// Throws UsageError, and then has left no file behind. Of several processes all call it and get the
// same exit code; only process 0 writes, shows and reads files.
int measure(const RunPlan& plan, const OutputFlags& flags, const std::vector<std::string>& command);

}  // namespace duet
