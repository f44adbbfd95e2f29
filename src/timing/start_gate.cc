// The gate is a semaphore whose value is the number of the last round that was released. It only
// grows.
#include "timing/start_gate.h"

#include <chrono>
#include <limits>

#include "core/clock.h"
#include "core/error.h"
#include "core/thread.h"

namespace duet {

StartGate::StartGate(Team& team)
    : team_(team),
      owner_(team.device(team.first_local())),
      word_(owner_.allocate(sizeof(std::uint64_t), MemoryKind::pinned)) {
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

// Polls every 100 ms. Notifying the watchdog for every batch would wake it during the batch.
void StartGate::watch() {
  constexpr std::chrono::milliseconds kPeriod{100};
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    if (deadline_ == 0 || steady_now() < deadline_) continue;
    expired_ = true;
    deadline_ = 0;
    open();
  }
}

void StartGate::arm(double deadline_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  deadline_ = deadline_seconds > 0 ? steady_now() + deadline_seconds : 0;
}

void StartGate::hold(Rank& rank, Stream& stream, double deadline_seconds) {
  if (rank.local == 0) arm(deadline_seconds);
  stream.wait(semaphore_at(word_, 0), round_ + 1);
}

void StartGate::let_go() {
  owner_.signal(semaphore_at(word_, 0), ++round_);
  arm(0);
}

void StartGate::release(Rank& rank, double deadline_seconds, const std::function<void()>& then) {
  team_.barrier("all ranks to reach the start gate", deadline_seconds);
  if (rank.local == 0) {
    let_go();
    if (then) then();
  }
  team_.barrier("all ranks to pass the start gate", deadline_seconds);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!expired_) return;
  throw Timeout("start gate: a call that should only enqueue blocked behind it until the deadline");
}

void StartGate::open() noexcept {
  try {
    owner_.signal(semaphore_at(word_, 0), std::numeric_limits<std::int64_t>::max());
  } catch (const std::exception&) {
    // The device has failed, and no stream of it waits any more.
  }
}

}  // namespace duet
