#pragma once

#include <functional>
#include <memory>
#include <string>

namespace duet {

// Runs the ranks of one process and lets them wait. On real devices ranks are threads that sleep
// while they wait. On a simulated machine one rank runs at a time, and virtual time passes only
// when all wait.
class RankScheduler {
 public:
  virtual ~RankScheduler() = default;

  // Runs body(0) .. body(ranks - 1) concurrently and returns when all have ended. If one of them
  // throws, the waits of the others throw too, and run() rethrows the first error. Not reentrant.
  virtual void run(int ranks, const std::function<void(int)>& body) = 0;

  // Blocks the calling rank until ready() returns true. `ready` is called with the scheduler's lock
  // held and must not wait. Throws Timeout, with `what` in its message, after the deadline, and
  // Error if another rank has failed.
  virtual void wait(const std::string& what, double deadline_seconds,
                    const std::function<bool()>& ready) = 0;

  // Runs `change` under the lock and wakes the waiting ranks.
  virtual void update(const std::function<void()>& change) = 0;
};

// The scheduler for real devices, which runs each rank as a thread.
std::unique_ptr<RankScheduler> make_thread_scheduler();

}  // namespace duet
