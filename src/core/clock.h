#pragma once

#include <algorithm>
#include <chrono>

namespace duet {

using SteadyClock = std::chrono::steady_clock;

// Seconds of the host's steady clock, since an arbitrary start. All processes of a machine have the
// same start.
inline double steady_now() {
  const auto now = SteadyClock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// To wait for: without an end, `seconds` may be more than a clock can count.
inline std::chrono::duration<double> time_limit(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::duration<double>(std::min(seconds, kLongest));
}

}  // namespace duet
