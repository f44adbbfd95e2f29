#include "nccl_shim/protocol/ending.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"

namespace duet::nccl_shim {
namespace {

constexpr double kDrainSeconds = 10;
constexpr double kLookSeconds = 0.01;  // in which events of idle streams are done

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

}  // namespace

// The first pieces and packets of a call that this rank has not come to need no word of its own.
bool Ending::end(bool peers_write) {
  if (stuck_) {
    abort(kLookSeconds);
  } else if (!failure_.is_ending() && !drain()) {
    abort(kDrainSeconds);
  }
  return !stuck_ && !(peers_write && failure_.is_ending() && peers_run());
}

bool Ending::drain() {
  const std::lock_guard<std::mutex> lock(enqueuing_);
  while (own_work_runs()) {
    if (failure_.is_over()) return false;
    pause();
  }
  return true;
}

bool Ending::is_done() {
  const std::lock_guard<std::mutex> lock(enqueuing_);
  return !own_work_runs();
}

void Ending::watch() {
  if (stuck_) {
    const std::unique_lock<std::mutex> aborting(abort_mutex_, std::try_to_lock);
    if (aborting) end_own_waits();
    return;
  }
  if (failure_.is_over()) return;
  if (shared_.broken.load(std::memory_order_acquire) != 0) {
    failure_.set_error("another rank has failed or aborted");
    return;
  }
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    const std::string why = why_gone(shared_, process(peer), peer);
    // Looked at afterwards: it may have done its part before it ended.
    if (why.empty() || !waits_for(peer)) continue;
    // The other ranks find out by themselves. Nothing is released: this rank's streams stop here.
    failure_.set_error(why);
    gate(rank_).store(kGateClosed, std::memory_order_release);
    return;
  }
}

bool Ending::waits_for(int peer) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [=](const Transfers* each) { return each->waits_for(peer); });
}

void Ending::end_own_waits() {
  gate(rank_).store(kGateOpen, std::memory_order_release);
  for (Transfers* each : transfers_) each->end_own_waits();
}

void Ending::give_up() {
  for (Transfers* each : transfers_) each->give_up();
}

void Ending::record_ends() noexcept {
  for (Transfers* each : transfers_) each->record_ends();
}

bool Ending::own_work_runs() const {
  return order_.runs() || std::any_of(transfers_.begin(), transfers_.end(),
                                      [](const Transfers* each) { return each->runs(); });
}

bool Ending::runs(int peer) const {
  if (peer == rank_) return false;
  if (shared_.ranks[peer].drained.load(std::memory_order_acquire) != 0) return false;
  return process(peer) == nullptr || !process(peer)->has_ended();
}

bool Ending::peers_run() const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (runs(peer)) return true;
  }
  return false;
}

bool Ending::may_touch(int peer) const {
  return runs(peer) && std::any_of(transfers_.begin(), transfers_.end(),
                                   [=](const Transfers* each) { return each->may_touch(peer); });
}

// True if all calls are done: this rank takes part no more.
bool Ending::leave() {
  const std::unique_lock<std::mutex> lock(enqueuing_, std::try_to_lock);
  if (!lock || std::any_of(transfers_.begin(), transfers_.end(),
                           [](const Transfers* each) { return each->is_begun(); })) {
    return false;
  }
  if (failure_.is_over() || own_work_runs()) return false;
  failure_.begin_end();
  left_ = true;
  failure_.set_error("aborted");
  shared_.ranks[rank_].drained.store(1, std::memory_order_release);
  return true;
}

void Ending::begin_abort() {
  if (left_ || leave()) return;
  failure_.begin_end();  // a thread in a call or in drain() lets go of the mutex
  failure_.break_with("aborted");
}

void Ending::abort(double seconds) {
  begin_abort();
  if (left_) return;
  const std::lock_guard<std::mutex> aborting(abort_mutex_);
  std::unique_lock<std::mutex> lock(enqueuing_, std::defer_lock);
  const std::string what_runs = end_work(lock, steady_now() + seconds);
  stuck_ = !what_runs.empty();
  if (stuck_) failure_.warn(what_runs);
}

// False if that is so until `limit`, of steady_now().
bool Ending::wait_while(const std::function<bool()>& holds, double limit) {
  for (; holds(); end_own_waits()) {
    if (steady_now() > limit) return false;
    pause();
  }
  return true;
}

std::string Ending::end_work(std::unique_lock<std::mutex>& lock, double limit) {
  // A call may have the mutex and wait for room in a queue of this rank's own streams.
  if (!wait_while([&] { return !lock.try_lock(); }, limit)) {
    return "a call of this rank does not return";
  }
  give_up();
  if (!std::exchange(is_revoked_, true)) {
    for (Transfers* each : transfers_) each->revoke_untaken();
  }
  // Before the driver is called: while another thread copies to pageable memory behind a call that
  // is stuck, it records no events.
  end_own_waits();
  record_ends();
  end_own_waits();
  if (!wait_while([&] { return own_work_runs(); }, limit)) return "work of this rank still runs";
  shared_.ranks[rank_].drained.store(1, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    if (wait_while([&] { return may_touch(peer); }, limit)) continue;
    return "rank " + std::to_string(peer) + " may still copy from or to this rank's buffers";
  }
  return "";
}

}  // namespace duet::nccl_shim
