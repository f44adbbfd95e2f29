// The fifo alone: how many commands a second go through it, against the number of producers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// A case for each number of producers, which process 0 runs while the others wait. The device must
// outlive them.
std::vector<Case> fifo_cases(Device& device, const std::string& device_name,
                             const std::vector<MemoryKind>& memory,
                             const std::vector<int>& producers, const Mode& mode,
                             const std::function<bool()>& stop, Processes& processes);

}  // namespace duet
