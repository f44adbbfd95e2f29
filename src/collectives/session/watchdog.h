// Ends device-side waits when a rank has failed, or another process has died or does not answer, so
// that no stream waits for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "team/team.h"

namespace duet {

// Waits of streams and kernels for other ranks.
class DeviceWaits {
 public:
  virtual ~DeviceWaits() = default;
  // Releases every wait that has begun. A queued call whose waits begin later needs another
  // release. May be called on any thread.
  virtual void release_waits() noexcept = 0;
};

// After a failure, all waits that are watched at that time are released again and again. Waits that
// are added later belong to no failure. While any are watched, other processes are asked to answer.
// On a simulated machine nothing is released: a wait that nothing ends is a deadlock there, which
// its scheduler reports.
class Watchdog {
 public:
  // Watches the team's ranks and its other processes.
  explicit Watchdog(Team& team);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void add(DeviceWaits* waits);
  void remove(DeviceWaits* waits);

  // As if a rank had failed.
  void fail(const std::string& reason);

  // The number of failures. Plans that were made when it was `since` are usable while it is the
  // same; kFailed is the number for plans that are made in an each() that has failed.
  static constexpr int kFailed = -1;
  int failures() const;
  bool well(int since) const { return failures_.load(std::memory_order_acquire) == since; }
  // Throws PeerFailed with the first reason since then, of the last kMostReasons, and the call that
  // was made, where it is not well: further failures are consequences of the first. No lock where
  // it is.
  static constexpr std::size_t kMostReasons = 256;
  void require_well(int since, std::string_view call) const {
    if (!well(since)) raise(since, call);
  }

 private:
  void watch();
  SteadyClock::time_point next_probe() const;
  [[noreturn]] void raise(int since, std::string_view call) const;

  Team& team_;
  int callback_ = 0;
  std::atomic<int> failures_{0};  // changed with the lock held

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<DeviceWaits*, bool> watched_;  // has it failed?
  std::deque<std::string> reasons_;       // of the last failures
  bool stop_ = false;
  std::thread thread_;
};

// Keeps waits watched during its lifetime. A plan declares it after its semaphores, so that they
// are no longer watched when they are destroyed.
class Watched {
 public:
  Watched(Watchdog& watchdog, DeviceWaits& waits) : watchdog_(watchdog), waits_(waits) {
    watchdog_.add(&waits_);
  }
  ~Watched() { watchdog_.remove(&waits_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watchdog& watchdog_;
  DeviceWaits& waits_;
};

}  // namespace duet
