// Signal handlers; see interrupt.h.
#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace duet {
namespace {

std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void on_signal(int) {
  // The journal is whole between any two instructions: each record is one write().
  if (signals.fetch_add(1) > 0) _exit(1);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // vendors' libraries do not expect EINTR
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return signals.load() > 0; }

}  // namespace duet
