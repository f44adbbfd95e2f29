// The cases of the CPU's copy peak.
#pragma once

#include <functional>
#include <vector>

#include "copy/cases.h"

namespace duet {

// One an executor of the options, where `copies`, the cases of `duet copy`, have one within a
// device of the CPU as large as the peak's; else none. Always measured in the mode adaptive. The
// machine must outlive the cases. A case that cannot run throws OutOfMemory.
std::vector<Case> copy_peak_cases(Machine& machine, const CopyOptions& options,
                                  const std::vector<Case>& copies,
                                  const std::function<bool()>& stop);

}  // namespace duet
