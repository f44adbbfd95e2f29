// A session's plans, while they are in use and, after a failure, beyond that.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "collectives/engine.h"
#include "collectives/peer/watchdog.h"

namespace duet {

class PlanInUse;

// A plan that ends in good order has no work under way, and goes at once. One that ends by or after
// a failure may have left work on any stream, which goes on when its waits are released: it is
// kept, with the memory that ends meanwhile, until the devices are through. A GPU's free would wait
// for them with the driver's lock held, which releasing takes too.
class SessionPlans {
 public:
  explicit SessionPlans(Team& team) : team_(team), watchdog_(team) {}
  // Where a device is not through in time, what is kept is left to the program's end.
  ~SessionPlans();
  SessionPlans(const SessionPlans&) = delete;
  SessionPlans& operator=(const SessionPlans&) = delete;

  Watchdog& watchdog() { return watchdog_; }

  // The rank's plan as the session's user gets it: its enqueue() throws PeerFailed after a failure,
  // and where it throws itself that is a failure of the team, and the device is through before
  // anything is freed on the way out. It must not outlive this.
  std::unique_ptr<CollectivePlan> in_use(const Rank& rank, std::unique_ptr<CollectivePlan> plan,
                                         std::string_view call);

  // Memory of the session's user, which ends.
  void end(Buffer memory);

  // Frees what is kept, where all local devices are through in time. Outside of a failure.
  void free_kept();

 private:
  friend class PlanInUse;

  Team& team_;
  Watchdog watchdog_;
  std::mutex mutex_;  // guards what follows
  std::set<const PlanInUse*> in_use_;
  std::vector<std::unique_ptr<CollectivePlan>> kept_;
  std::vector<Buffer> kept_memory_;
};

}  // namespace duet
