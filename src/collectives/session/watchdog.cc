// A thread that sleeps until something fails, but for its probes, and then releases waits until
// nobody needs it.
#include "collectives/session/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/thread.h"

namespace duet {
namespace {

constexpr std::chrono::milliseconds kReleasePeriod{2};

}  // namespace

Watchdog::Watchdog(Team& team) : team_(team) {
  if (!team.machine().is_virtual()) {
    thread_ =
        start_thread("the thread that releases waits once a rank has failed", [this] { watch(); });
  }
  callback_ = team_.on_failure([this](const std::string& reason) { fail(reason); });
}

Watchdog::~Watchdog() {
  team_.forget(callback_);
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

// What comes after the failure of its own each() waits for ranks that do not come.
void Watchdog::add(DeviceWaits* waits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_[waits] = !team_.failure().empty();
  changed_.notify_all();
}

void Watchdog::remove(DeviceWaits* waits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_.erase(waits);
}

void Watchdog::fail(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reasons_.push_back(reason);
  if (reasons_.size() > kMostReasons) reasons_.pop_front();
  failures_.fetch_add(1, std::memory_order_release);
  for (auto& [waits, failed] : watched_) failed = true;
  changed_.notify_all();
}

int Watchdog::failures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return team_.failure().empty() ? failures_.load() : kFailed;
}

// A wait that is released sets its semaphore back, and the next call in the queue waits again.
void Watchdog::watch() {
  const auto any_failed = [this] {
    return std::any_of(watched_.begin(), watched_.end(),
                       [](const auto& each) { return each.second; });
  };
  std::unique_lock<std::mutex> lock(mutex_);
  auto probe_at = next_probe();
  while (!stop_) {
    for (const auto& [waits, failed] : watched_) {
      if (failed) waits->release_waits();
    }
    if (any_failed()) {
      changed_.wait_for(lock, kReleasePeriod, [this] { return stop_; });
    } else {
      changed_.wait_until(lock, probe_at, [&] { return stop_ || any_failed(); });
    }
    if (SteadyClock::now() < probe_at) continue;
    probe_at = next_probe();
    if (stop_ || watched_.empty()) continue;
    lock.unlock();
    team_.processes()->probe();
    lock.lock();
  }
}

// While a stream waits for a process that is stopped, nothing else may tell. Never where there is
// no other process.
SteadyClock::time_point Watchdog::next_probe() const {
  if (team_.processes() == nullptr) return SteadyClock::time_point::max();
  const std::chrono::duration<double> interval(team_.processes()->probe_interval());
  return SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(interval);
}

void Watchdog::raise(int since, std::string_view call) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int forgotten = failures_.load() - static_cast<int>(reasons_.size());
  const auto first = static_cast<std::size_t>(std::max(since - forgotten, 0));
  const std::string reason = since == kFailed ? team_.failure() : reasons_.at(first);
  throw PeerFailed(fmt::format("{} while waiting for the ranks of {}", reason, call));
}

}  // namespace duet
