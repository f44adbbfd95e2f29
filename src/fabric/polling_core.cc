#include "fabric/polling_core.h"

#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/thread.h"

namespace duet {
namespace {

constexpr int kPollsPerClockRead = 16;
constexpr double kIdleSeconds = 15e-6;  // yielding a core that nobody waits for costs 0.6 us

}  // namespace

void PollingCore::hold() {
  if (!core_ || !before_.empty()) return;
  before_ = allowed_cores();
  if (!before_.empty()) bind_to({*core_});
}

void PollingCore::release() {
  if (!before_.empty()) bind_to(before_);
  before_.clear();
}

// Time that others had on the core counts as idle: it is yielded again at the next clock read.
void PollingCore::polled(bool found) {
  found_ = found_ || found;
  if (++polls_ % kPollsPerClockRead != 0) return;
  const double now = steady_now();
  if (std::exchange(found_, false)) idle_since_ = now;
  if (now - idle_since_ < kIdleSeconds) return;
  idle_since_ = now;
  std::this_thread::yield();
}

}  // namespace duet
