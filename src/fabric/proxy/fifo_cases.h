#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// Cases that measure the fifo alone, in commands per second: one for each kind of memory and number
// of producers. Process 0 runs them while the others wait. The device must outlive them.
std::vector<Case> fifo_cases(Device& device, const std::string& device_name,
                             const std::vector<MemoryKind>& memory,
                             const std::vector<int>& producers, const Mode& mode,
                             const std::function<bool()>& stop, Processes& processes);

}  // namespace duet
