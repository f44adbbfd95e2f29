// The end of a measurement, after errors too: memory must not be freed while work may still access
// it.
#pragma once

#include <vector>

#include "device/machine.h"

namespace duet {

// Waits until all streams and their devices are idle, at most until the deadline, which counts from
// the call. Waiting for the devices covers work that a failed call left on streams of its own.
void run_dry(Machine& machine, const std::vector<Stream*>& streams,
             double deadline_seconds) noexcept;

}  // namespace duet
