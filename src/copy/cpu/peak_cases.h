#pragma once

#include <functional>
#include <vector>

#include "copy/cases.h"

namespace duet {

// The cases of the CPU's copy peak: one per executor of the options for which `copies`, the cases
// of `duet copy`, have a copy within a host device that is as large as the peak's. Always measured
// in mode adaptive. The machine must outlive the cases. A case that cannot run throws OutOfMemory.
std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop);

}  // namespace duet
