// Seconds of the host's steady clock, from a time that is the machine's.
#pragma once

#include <chrono>

namespace duet {

inline double steady_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace duet
