#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"
#include "run/run_plan.h"
#include "team/processes.h"

namespace duet {

// The last step of every measuring command: opens the outputs, runs the jobs and prints a summary.
// Returns the exit code. All other input must have been checked. Throws UsageError if an output
// cannot be opened, and then leaves no new file behind. Collective: all processes call it and get
// the same exit code, but only process 0 prints, and reads and writes files. With --list it prints
// the cases instead.
int measure(const RunPlan& plan, const OutputFlags& flags, const std::vector<std::string>& command);

// Opens the devices of --device that this process drives (own_device()) and adds them to the plan
// under the names that the user gave. Collective: all processes call it. If one throws, all throw
// UsageError.
void open_own_machines(RunPlan& plan, const std::vector<std::string>& devices,
                       Processes& processes);

}  // namespace duet
