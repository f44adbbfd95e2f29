// A thread that sleeps until a process fails, and then releases waits until nobody needs it.
#include "collectives/peer/watchdog.h"

#include <fmt/format.h>

#include <chrono>

namespace duet {

Watchdog::Watchdog(Team& team) : processes_(team.processes()) {
  if (processes_ == nullptr) return;
  thread_ = std::thread([this] { watch(); });
  callback_ = processes_->on_failure([this](const std::string& reason) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed_) return;
    reason_ = reason;
    failed_.store(true, std::memory_order_release);
    changed_.notify_all();
  });
}

Watchdog::~Watchdog() {
  if (processes_ == nullptr) return;
  processes_->forget(callback_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Watchdog::add(Waiting* one) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_.insert(one);
}

void Watchdog::remove(Waiting* one) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_.erase(one);
}

// A wait that is released sets its flag back, and the next call in the queue waits again.
void Watchdog::watch() {
  constexpr std::chrono::milliseconds kPeriod{20};
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || failed_; });
  while (!stop_) {
    for (Waiting* one : watched_) one->release_waits();
    changed_.wait_for(lock, kPeriod, [this] { return stop_; });
  }
}

void Watchdog::raise(std::string_view call) const {
  throw PeerFailed(fmt::format("{} while waiting for the ranks of {}", reason_, call));
}

}  // namespace duet
