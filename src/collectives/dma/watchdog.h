// Ends a rank's device-side waits when another process fails or is gone, so that no stream waits
// for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "collectives/dma/peers.h"

namespace duet {

class Watchdog {
 public:
  // Watches the team's other processes; with none there is nothing to watch.
  explicit Watchdog(Team& team);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void add(Peers* peers);
  void remove(Peers* peers);

  // Throws PeerFailed with the reason, once there is one. No lock.
  void require_all_well() const {
    if (failed_.load(std::memory_order_acquire)) raise();
  }

 private:
  void watch();
  [[noreturn]] void raise() const;

  Processes* processes_;
  int callback_ = 0;
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // guards what follows; `reason_` does not change once failed_ is set
  std::condition_variable changed_;
  std::set<Peers*> watched_;
  std::string reason_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace duet
