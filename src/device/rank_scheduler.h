// How the ranks of one process run and wait. On real devices they are threads that sleep; on a
// simulated machine one runs at a time, and virtual time passes only when every rank waits.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace duet {

class RankScheduler {
 public:
  virtual ~RankScheduler() = default;

  // Runs body(0) .. body(ranks - 1) beside each other and returns when all have ended. If some
  // threw, the others' waits throw too, and the first error is rethrown. Not reentrant.
  virtual void run(int ranks, const std::function<void(int)>& body) = 0;

  // Blocks the calling rank until ready() holds; `ready` is called with the scheduler's lock held
  // and must not wait. Where it does not hold throws Timeout naming `what`, or Error if another
  // rank failed.
  virtual void wait(const std::string& what, double deadline_seconds,
                    const std::function<bool()>& ready) = 0;

  // Runs `change` under the lock and wakes the waiting ranks.
  virtual void update(const std::function<void()>& change) = 0;
};

// Ranks as threads.
std::unique_ptr<RankScheduler> make_thread_scheduler();

}  // namespace duet
