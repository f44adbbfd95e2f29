// Seconds of the host; see clock.h.
#include "fabric/clock.h"

#include <chrono>

namespace duet {

double steady_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace duet
