// A session's plans, while they are in use and, after a failure, beyond that.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/engine.h"
#include "collectives/memory.h"
#include "collectives/session/watchdog.h"

namespace duet {

class PlanInUse;

// A plan that ends without a failure has no work under way and is freed at once. One that ends by
// or after a failure may have left work on any stream, which goes on only when its waits are
// released: it is kept, with the memory that is given up meanwhile, until the devices have
// finished. Freeing it at once could hang: a GPU's free waits for that work with the driver's lock
// held, which releasing the waits needs too.
class SessionPlans {
 public:
  explicit SessionPlans(Team& team) : team_(team), watchdog_(team) {}
  // Where a device does not finish in time, what is kept is leaked until the program ends.
  ~SessionPlans();
  SessionPlans(const SessionPlans&) = delete;
  SessionPlans& operator=(const SessionPlans&) = delete;

  Watchdog& watchdog() { return watchdog_; }

  // The rank's plan as the session's user gets it. After a failure its enqueue() throws PeerFailed.
  // Where enqueue() itself throws, the team has failed, and the device has finished before anything
  // is freed while the stack unwinds. The plan must not outlive this.
  std::unique_ptr<CollectivePlan> hand_out(const Rank& rank, std::unique_ptr<CollectivePlan> plan,
                                           std::string_view call);

  // The user gives up memory of the session: it is freed, or kept while a plan may still use it.
  void end(Buffer memory);

  // Frees what is kept, where all local devices finish in time. Not to be called during a failure.
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

// A user's buffer of a session, which outlives the plans that a failure left with work.
class SessionMemory : public CollectiveMemory {
 public:
  SessionMemory(const std::shared_ptr<SessionPlans>& plans, Buffer buffer)
      : plans_(plans), buffer_(std::move(buffer)) {}
  ~SessionMemory() override {
    if (const auto plans = plans_.lock()) plans->end(std::move(buffer_));
  }
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;
  Span span() const override { return buffer_.span(); }

 private:
  std::weak_ptr<SessionPlans> plans_;
  Buffer buffer_;
};

}  // namespace duet
