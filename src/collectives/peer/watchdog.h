// Ends a rank's device-side waits when another process fails or is gone, so that no stream waits
// for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
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

class Watchdog {
 public:
  // Watches the team's other processes; with none there is nothing to watch.
  explicit Watchdog(Team& team);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void add(Waiting* one);
  void remove(Waiting* one);

  // Throws PeerFailed with the reason, and the call that was made, once there is one. No lock.
  void require_all_well(std::string_view call) const {
    if (failed_.load(std::memory_order_acquire)) raise(call);
  }

 private:
  void watch();
  [[noreturn]] void raise(std::string_view call) const;

  Processes* processes_;
  int callback_ = 0;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // guards what follows; `reason_` does not change once failed_ is set
  std::condition_variable changed_;
  std::set<Waiting*> watched_;
  std::string reason_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace duet
