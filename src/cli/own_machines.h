// The devices that one process of a run drives.
#pragma once

#include <string>
#include <vector>

#include "cli/measure.h"
#include "team/processes.h"

namespace duet {

// Opens --device into the plan, which calls it as the user did whichever GPU of it this process
// drives (own_device()). Called by all processes. Throws UsageError, in all where in any.
void open_own_machines(RunPlan& plan, const std::vector<std::string>& devices,
                       Processes& processes);

}  // namespace duet
