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

// A wait of `seconds`, which may be infinite: at most 1e9, since a time point holds no more.
inline std::chrono::duration<double> time_limit(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::duration<double>(std::min(seconds, kLongest));
}

}  // namespace duet
