// The devices that one process of a run drives.
#pragma once

#include <string>
#include <vector>

#include "cli/measure.h"
#include "team/processes.h"

namespace duet {

// Opens --device into the plan. A process that knows its place on its node drives one GPU: of
// "cuda" (hip) it opens cuda:PLACE, and the plan calls it cuda; what names GPUs is opened as it is.
// Called by all processes. Throws UsageError, in all where in any.
void open_own_machines(Plan& plan, const std::vector<std::string>& devices, Processes& processes);

}  // namespace duet
