// Ends device-side waits when a rank has failed or another process is gone, so that no stream waits
// for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "team/team.h"

namespace duet {

// Something that waits on a device for other ranks.
class Waiting {
 public:
  virtual ~Waiting() = default;
  // Lets every wait go on, those of the calls still queued at the next time it is called. On any
  // thread.
  virtual void release_waits() noexcept = 0;
};

// A failure is one of all that waits at that time: it is released again and again from then on.
// What begins to wait later does not know of it. On a simulated machine nothing is released: nobody
// hangs there.
class Watchdog {
 public:
  // Watches the team's ranks and its other processes.
  explicit Watchdog(Team& team);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void add(Waiting* one);
  void remove(Waiting* one);

  // As if a rank had failed.
  void fail(const std::string& reason);

  // Counts failures. What was made when the count was `since` is well while it is the same; kFailed
  // is that of what is made in an each() that has failed.
  static constexpr int kFailed = -1;
  int failures() const;
  bool well(int since) const { return failures_.load(std::memory_order_acquire) == since; }
  // Throws PeerFailed with the reason, and the call that was made, where it is not well. No lock
  // where it is.
  void require_well(int since, std::string_view call) const {
    if (!well(since)) raise(call);
  }

 private:
  void watch();
  [[noreturn]] void raise(std::string_view call) const;

  Team& team_;
  int callback_ = 0;
  std::atomic<int> failures_{0};  // changed with the lock held

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<Waiting*, bool> watched_;  // has it failed?
  std::string reason_;                // of the last failure
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace duet
