// How calls and communicators of PairCopies end: drained, noticed as broken, or aborted.
#include <chrono>
#include <thread>

#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {
namespace {

constexpr double kDrainSeconds = 10;
constexpr double kLookSeconds = 0.01;  // in which events of idle streams are done

class Until {
 public:
  explicit Until(double seconds)
      : end_(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)) {}
  bool passed() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
};

}  // namespace

void PairCopies::pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

// The first pieces and packets of a call that this rank has not come to need no word of its own.
bool PairCopies::end() {
  if (stuck_) {
    abort(kLookSeconds);
  } else if (!ending_ && !drain()) {
    abort(kDrainSeconds);
  }
  const bool peers_write = slots_ != nullptr && ending_ && peers_run();
  return !stuck_ && !peers_write;
}

PairCopies::~PairCopies() {
  end();
  end_test_of_segments();
  device_.destroy_stream(push_lane_);
  device_.destroy_stream(pull_lane_);
  if (slots_ != nullptr) device_.free(slots_);
  (*shared_)->ranks[rank_].drained.store(1, std::memory_order_release);
  device_.unshare_words(&(*shared_)->words);
}

bool PairCopies::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (own_work_runs()) {
    if (ending_ || !error().empty()) return false;
    pause();
  }
  return true;
}

bool PairCopies::is_done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !own_work_runs();
}

std::string PairCopies::error() const {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  return error_;
}

std::string PairCopies::warning() const {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  return warning_;
}

void PairCopies::set_error(const std::string& why) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  if (error_.empty()) error_ = why;
}

void PairCopies::break_with(const std::string& why) {
  set_error(why);
  (*shared_)->broken.store(1, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank)
    gate(rank).store(kGateClosed, std::memory_order_release);
}

// Whether streams of this rank wait for a word of the peer's.
bool PairCopies::waits_for(int peer) const {
  const PairWords& from = words(peer, rank_);
  const Sequence& expected = theirs_[peer];
  return !has_come(from.ready, expected.ready) || !has_come(from.pushed, expected.pushed) ||
         !has_come(from.pulled, expected.pulled) || !has_come(from.arrived, pieces_) ||
         !has_come(from.freed, pieces_ - 2) ||  // the last that is waited for
         (messages_ && messages_->waits_for(peer));
}

void PairCopies::watch() {
  if (stuck_) {
    const std::unique_lock<std::mutex> aborting(abort_mutex_, std::try_to_lock);
    if (aborting) end_own_waits();
    return;
  }
  if (ending_ || !error().empty()) return;
  if ((*shared_)->broken.load(std::memory_order_acquire) != 0) {
    set_error("another rank has failed or aborted");
    return;
  }
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    const std::string why = why_gone(**shared_, processes_[peer].get(), peer);
    // Looked at afterwards: it may have done its part before it ended.
    if (why.empty() || !(waits_for(peer) || waits_for_packets_of(peer))) continue;
    // The other ranks find out by themselves. Nothing is released: this rank's streams stop here.
    set_error(why);
    gate(rank_).store(kGateClosed, std::memory_order_release);
    return;
  }
}

// Takes back the calls that a peer has not come to; the peer's share of them is not to be expected.
PairCopies::Shares PairCopies::revoke_untaken() {
  Shares expected{};
  for (int peer = 0; peer < ranks_; ++peer) {
    expected[peer] = {theirs_[peer].pushed, theirs_[peer].pulled, pieces_};
    const std::uint64_t oldest = number_ > kCallsAhead ? number_ - kCallsAhead + 1 : 1;
    for (std::uint64_t number = oldest; peer != rank_ && number <= number_; ++number) {
      std::uint64_t untaken = number | kLeft;
      if (!state(peer, number).compare_exchange_strong(untaken, number | kRevoked)) continue;
      const CallRecord& record = (*shared_)->records[rank_][number % kCallsAhead];
      const Call call{static_cast<Kind>(record.kind), nullptr, nullptr, record.bytes,
                      static_cast<int>(record.root)};
      if (copied(call, peer, rank_).bytes > 0) --expected[peer].pushed;
      if (copied(call, rank_, peer).bytes > 0) --expected[peer].pulled;
      expected[peer].arrived -= pieces(call);
    }
  }
  if (messages_) messages_->revoke_untaken();
  return expected;
}

// One look at all words that this rank's streams may wait for.
void PairCopies::end_own_waits() {
  gate(rank_).store(kGateOpen, std::memory_order_release);
  packet_words(rank_).ended.store(1, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    PairWords& from = words(peer, rank_);
    Share& seen = seen_[peer];
    std::uint32_t unused = 0;
    force(from.ready, theirs_[peer].ready, unused);
    force(from.pushed, theirs_[peer].pushed, seen.pushed);
    force(from.pulled, theirs_[peer].pulled, seen.pulled);
    force(from.arrived, pieces_, seen.arrived);
    force(from.freed, pieces_, unused);
  }
  if (messages_) messages_->end_own_waits();
}

void PairCopies::record_ends() noexcept {
  try_record(device_, *pushed_, push_lane_);
  try_record(device_, *pulled_, pull_lane_);
  if (messages_) messages_->record_ends();
}

bool PairCopies::own_work_runs() const {
  return !device_.done(*last_.call) || !device_.done(*pushed_) || !device_.done(*pulled_) ||
         (messages_ && messages_->runs());
}

bool PairCopies::runs(int peer) const {
  if (peer == rank_) return false;
  if ((*shared_)->ranks[peer].drained.load(std::memory_order_acquire) != 0) return false;
  return processes_[peer] == nullptr || !processes_[peer]->has_ended();
}

bool PairCopies::peers_run() const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (runs(peer)) return true;
  }
  return false;
}

bool PairCopies::may_touch(int peer) const {
  const Share &seen = seen_[peer], &expected = (*expected_)[peer];
  if (messages_ && runs(peer) && messages_->may_touch(peer)) return true;
  return runs(peer) && (seen.pushed != expected.pushed || seen.pulled != expected.pulled ||
                        seen.arrived != expected.arrived);
}

// True if all calls are done: this rank takes part no more.
bool PairCopies::leave() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock || begun_ || (messages_ && messages_->is_begun())) return false;
  if (ending_ || !error().empty() || own_work_runs()) return false;
  left_ = ending_ = true;
  set_error("aborted");
  (*shared_)->ranks[rank_].drained.store(1, std::memory_order_release);
  return true;
}

void PairCopies::begin_abort() {
  if (left_ || leave()) return;
  ending_ = true;  // a thread in enqueue() or drain() lets go of the mutex
  break_with("aborted");
}

void PairCopies::abort(double seconds) {
  begin_abort();
  if (left_) return;
  const std::lock_guard<std::mutex> aborting(abort_mutex_);
  const Until limit(seconds);
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  // A call may have the mutex and wait for room in a queue of this rank's own streams.
  for (; !lock.try_lock(); end_own_waits()) {
    if (limit.passed()) {
      stuck_ = true;
      warn("a call of this rank does not return");
      return;
    }
    pause();
  }
  give_up_begun();
  if (!expected_) expected_ = revoke_untaken();
  // Before the driver is called: while another thread copies to pageable memory behind a call that
  // is stuck, it records no events.
  end_own_waits();
  record_ends();
  for (end_own_waits(); own_work_runs(); end_own_waits()) {
    if (limit.passed()) {
      stuck_ = true;
      warn("work of this rank still runs");
      return;
    }
    pause();
  }
  (*shared_)->ranks[rank_].drained.store(1, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    for (; may_touch(peer); end_own_waits()) {
      if (limit.passed()) {
        stuck_ = true;
        warn("rank " + std::to_string(peer) + " may still copy from or to this rank's buffers");
        return;
      }
      pause();
    }
  }
  stuck_ = false;
}

void PairCopies::warn(const std::string& what) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  warning_ = what;
}

}  // namespace duet::nccl_shim
