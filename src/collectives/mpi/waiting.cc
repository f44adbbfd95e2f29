#include "collectives/mpi/waiting.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "core/clock.h"

namespace duet::mpi {
namespace {

// Interval between checks of the other processes' state. Each check takes a lock.
constexpr std::chrono::milliseconds kLook(10);

}  // namespace

void wait_for(Processes* processes, const std::string& what, double deadline_seconds,
              const std::function<bool()>& done) {
  const auto start = SteadyClock::now();
  auto look = start + kLook;
  while (!done()) {
    std::this_thread::yield();
    const auto now = SteadyClock::now();
    if (now < look) continue;
    look = now + kLook;
    const std::string reason = processes != nullptr ? processes->failure() : "";
    if (!reason.empty()) throw PeerFailed(fmt::format("{} while waiting for {}", reason, what));
    if (now - start > std::chrono::duration<double>(deadline_seconds)) {
      throw Timeout(fmt::format("waited {:.0f} s for {}", deadline_seconds, what));
    }
  }
}

}  // namespace duet::mpi
