// Binding and yielding; see polling_core.h.
#include "fabric/polling_core.h"

#include <thread>
#include <utility>

#include "core/affinity.h"
#include "core/clock.h"

namespace duet {
namespace {

constexpr int kPollsPerGlance = 16;
constexpr double kPatience = 15e-6;  // to leave a core that none waits for costs 0.6 us

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

}  // namespace duet
