#pragma once

#include <string>
#include <vector>

#include "cli/measure.h"
#include "team/processes.h"

namespace duet {

// Opens the devices of --device that this process drives (own_device()) and adds them to the plan
// under the names that the user gave. Collective: all processes call it. If one throws, all throw
// UsageError.
void open_own_machines(RunPlan& plan, const std::vector<std::string>& devices,
                       Processes& processes);

}  // namespace duet
