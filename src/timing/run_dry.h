// The end of a measurement, whatever ended it: memory must not go while work may still reach it.
#pragma once

#include <vector>

#include "device/machine.h"

namespace duet {

// Waits until all streams are idle, all together for no longer than the deadline.
void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept;

}  // namespace duet
