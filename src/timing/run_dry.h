// The end of a measurement, whatever ended it: memory must not go while work may still reach it.
#pragma once

#include <vector>

#include "device/machine.h"

namespace duet {

// Waits until all streams and their devices are idle, for no longer than the deadline each: what a
// call that failed has left on streams of its own counts as well.
void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept;

}  // namespace duet
