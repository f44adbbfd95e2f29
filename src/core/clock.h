// The host's steady clock.
#pragma once

#include <chrono>

namespace duet {

using SteadyClock = std::chrono::steady_clock;

// Seconds since a time that is the machine's.
inline double steady_now() {
  const auto now = SteadyClock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace duet
