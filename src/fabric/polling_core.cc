// Yields, and the kernel's count of switches; see polling_core.h.
#include "fabric/polling_core.h"

#include <sys/resource.h>

#include <thread>
#include <utility>

#include "core/clock.h"

namespace duet {
namespace {

constexpr int kPollsPerGlance = 16;
constexpr double kPatience = 15e-6;  // to leave a core that none waits for costs 0.6 us
constexpr double kQuiet = 200e-6, kLongestSettling = 10e-3;

// How often the kernel gave the core to another thread while this one could have run, which it also
// counts where this one left it to one that waited.
long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

// Others' time on the core counts as idle: it is left again at the next glance.
void PollingCore::polled(bool found) {
  found_ = found_ || found;
  if (++polls_ % kPollsPerGlance != 0) return;
  const double now = steady_now();
  if (std::exchange(found_, false)) idle_since_ = now;
  if (now - idle_since_ < kPatience) return;
  idle_since_ = now;
  std::this_thread::yield();
}

void PollingCore::settle(const std::function<void()>& poll) {
  const double begin = steady_now();
  double quiet_since = begin;
  long before = switches();
  for (double now = begin; now - quiet_since < kQuiet && now - begin < kLongestSettling;
       now = steady_now()) {
    poll();
    const long after = switches();
    if (std::exchange(before, after) != after) quiet_since = now;
  }
}

}  // namespace duet
