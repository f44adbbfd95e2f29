#pragma once

#include <chrono>

namespace duet {

using SteadyClock = std::chrono::steady_clock;

// Seconds of the host's steady clock, since an arbitrary start. All processes of a machine have the
// same start.
inline double steady_now() {
  const auto now = SteadyClock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace duet
