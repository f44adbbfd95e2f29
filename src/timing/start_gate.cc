// The gate is a semaphore whose value is the number of the last round that was released. It only
// grows.
#include "timing/start_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"

namespace duet {

StartGate::StartGate(Team& team)
    : team_(team),
      owner_(team.device(team.first_local())),
      word_(owner_.allocate(sizeof(std::uint64_t), MemoryKind::pinned)),
      deadlines_(static_cast<std::size_t>(team.local_size())) {
  const std::uint64_t zero = 0;
  owner_.write(word_.span(), &zero);
  if (!team_.machine().is_virtual()) {
    watchdog_ = start_thread("the watchdog of the start gate", [this] { watch(); });
  }
  on_failure_ = team_.on_failure([this](const std::string&) { open(); });
}

StartGate::~StartGate() {
  team_.forget(on_failure_);
  if (!watchdog_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    stopped_.notify_all();
  }
  watchdog_.join();
}

// The first local rank whose deadline is over.
std::optional<Rank> StartGate::overdue() {
  const double now = steady_now();
  for (std::size_t local = 0; local < deadlines_.size(); ++local) {
    if (deadlines_[local] > 0 && now > deadlines_[local]) {
      return team_.local_rank(static_cast<int>(local));
    }
  }
  return {};
}

// Polls every 100 ms. Notifying the watchdog for every batch would wake it during the batch.
void StartGate::watch() {
  constexpr std::chrono::milliseconds kPeriod{100};
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    const auto rank = overdue();
    if (!rank) continue;
    blocked_ = fmt::format(
        "start gate: calls of rank {} that should only enqueue blocked behind it for {:g} s: "
        "expected no more than the launch queue of {} takes",
        rank->index, allowed_, rank->device.info().name);
    const std::string reason = blocked_;
    lock.unlock();  // open() takes it, which the failure calls too
    open();
    team_.fail(rank->index, reason);
    lock.lock();
  }
}

void StartGate::arm(const Rank& rank, double deadline_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  double& deadline = deadlines_[static_cast<std::size_t>(rank.local)];
  deadline = 0;
  if (deadline_seconds <= 0) return;
  allowed_ = std::min(deadline_seconds, kEnqueueSeconds);
  deadline = steady_now() + allowed_;
}

void StartGate::hold(Rank& rank, Stream& stream, double deadline_seconds) {
  arm(rank, deadline_seconds);
  stream.wait(semaphore_at(word_, 0), round_ + 1);
}

void StartGate::let_go() { owner_.signal(semaphore_at(word_, 0), ++round_); }

void StartGate::release(Rank& rank, double deadline_seconds, const std::function<void()>& then) {
  arm(rank, 0);
  require_not_blocked();
  team_.barrier("all ranks to reach the start gate", deadline_seconds);
  if (rank.local == 0) {
    let_go();
    if (then) then();
  }
  team_.barrier("all ranks to pass the start gate", deadline_seconds);
}

void StartGate::require_not_blocked() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!blocked_.empty()) throw Timeout(blocked_);
}

void StartGate::open() noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::fill(deadlines_.begin(), deadlines_.end(), 0);
  }
  try {
    owner_.signal(semaphore_at(word_, 0), std::numeric_limits<std::int64_t>::max());
  } catch (const std::exception&) {
    // The device has failed, and no stream of it waits any more.
  }
}

}  // namespace duet
