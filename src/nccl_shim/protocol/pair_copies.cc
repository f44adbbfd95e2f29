#include "nccl_shim/protocol/pair_copies.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/error.h"

namespace duet::nccl_shim {
namespace {

using What = WordOperation::What;

// A pair's state holds the number of the call that one of both has come to, and:
constexpr std::uint64_t kTaken = 1ull << 63;    // the other has come as well
constexpr std::uint64_t kRevoked = 1ull << 62;  // the first has aborted before the other came

constexpr double kDrainSeconds = 10;

// What aborting adds to the counter of a word that it sets in a peer's place: such a word has come,
// and is no value that the peer itself sets.
constexpr std::uint32_t kForced = 1u << 30;

// Sets a word that has not come to `value` as if it had.
void force(Word& word, std::uint32_t value) {
  std::uint32_t seen = word.load(std::memory_order_acquire);
  if (!has_come(seen, value)) word.compare_exchange_strong(seen, value + kForced);
}

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

class Until {
 public:
  explicit Until(double seconds)
      : end_(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)) {}
  bool passed() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end_;
};

}  // namespace

PairCopies::PairCopies(ShimDevice& device, std::shared_ptr<SharedSegment> segment, int rank,
                       int ranks)
    : device_(device),
      segment_(std::move(segment)),
      rank_(rank),
      ranks_(ranks),
      lent_(device, **segment_, rank),
      borrowed_(device, **segment_, rank),
      send_stand_in_(device),
      receive_stand_in_(device),
      push_lane_(device.create_stream()),
      pull_lane_(device.create_stream()),
      begin_(device.create_event()),
      pushed_(device.create_event()),
      pulled_(device.create_event()),
      last_call_(device.create_event()),
      other_work_(device.create_event()) {
  const Segment& shared = **segment_;
  for (int peer = 0; peer < ranks; ++peer) {
    if (shared.ranks[peer].process != shared.ranks[rank].process) {
      processes_[peer] = std::make_unique<PeerProcess>(shared.ranks[peer].process);
    }
  }
  device_.share_words(&(*segment_)->words, sizeof(Segment::Words));
}

PairCopies::~PairCopies() {
  if (!ending_ && !drain()) abort(kDrainSeconds);
  if (!stuck_) {  // lanes that still wait are left to the end of the process
    device_.destroy_stream(push_lane_);
    device_.destroy_stream(pull_lane_);
  }
  (*segment_)->ranks[rank_].drained.store(1, std::memory_order_release);
  device_.unshare_words(&(*segment_)->words);
}

void PairCopies::enqueue(const Call& call, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    enqueue_locked(call, user);
  } catch (const Error& error) {
    break_with(error.what());
    try_record(*last_call_, user);  // behind as much of the call as was enqueued
    throw;
  }
}

// Where the device has failed, events count as done.
void PairCopies::try_record(StreamEvent& event, Stream stream) noexcept {
  try {
    device_.record(event, stream);
  } catch (const Error&) {
    // What made it fail is on its way already, or nothing runs any more.
  }
}

void PairCopies::enqueue_locked(const Call& call, Stream user) {
  check_whole();
  const std::uint64_t number = number_ + 1;
  wait_for_room(number);
  borrowed_.release_ended();
  follow_last(user);
  const Buffers mine = publish(call, number);
  if (mine.send_stands_in) {
    device_.copy(user, const_cast<char*>(mine.send), call.send, send_bytes(call, rank_, ranks_));
  }

  number_ = number;
  Second second{};
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (rank_ + step) % ranks_;
    second[peer] = involved(call, peer) && come_second(peer, number);
  }
  count(call, second);

  signal_ready(call, second, user);
  copy_as_second(call, mine, second, number, user);
  (*segment_)->ranks[rank_].arrived.store(number, std::memory_order_release);
  wait_for_seconds(call, second, user);
  if (mine.receive_stands_in) {
    device_.copy(user, call.receive, mine.receive, receive_bytes(call, ranks_));
  }
  device_.record(*last_call_, user);
  last_ = Last::call;
  last_stream_ = user;
}

void PairCopies::check_whole() const {
  const std::string why = error();
  if (!why.empty()) throw PeerFailed(why);
  if ((*segment_)->broken.load(std::memory_order_acquire) != 0) {
    throw PeerFailed("another rank has failed or aborted");
  }
}

// The record of call number - kCallsAhead is written over: nobody may read it any more.
void PairCopies::wait_for_room(std::uint64_t number) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    while ((*segment_)->ranks[peer].arrived.load(std::memory_order_acquire) + kCallsAhead <
           number) {
      if (ending_) throw PeerFailed("aborted");
      check_whole();
      if (processes_[peer] != nullptr && processes_[peer]->has_ended()) {
        throw PeerFailed("the process of rank " + std::to_string(peer) + " has ended");
      }
      pause();
    }
  }
}

PairCopies::Buffers PairCopies::publish(const Call& call, std::uint64_t number) {
  CallRecord& record = (*segment_)->records[rank_][number % kCallsAhead];
  record.kind = static_cast<std::uint32_t>(call.kind);
  record.root = static_cast<std::uint32_t>(call.root);
  record.bytes = call.bytes;
  const std::size_t sent = send_bytes(call, rank_, ranks_);
  const std::size_t received = receive_bytes(call, ranks_);
  const char* send = lend(call.send, sent, send_stand_in_, record.send);
  const char* receive = lend(call.receive, received, receive_stand_in_, record.receive);
  return {send, const_cast<char*>(receive), sent > 0 && send != call.send, receive != call.receive};
}

const char* PairCopies::lend(const void* buffer, std::size_t bytes, StandIn& stand_in,
                             BufferPlace& place) {
  place = {};
  if (bytes == 0) return static_cast<const char*>(buffer);
  try {
    place = lent_.place(buffer, bytes);
    return static_cast<const char*>(buffer);
  } catch (const Unavailable&) {
    const char* standing_in = stand_in.at_least(bytes);
    place = lent_.place(standing_in, bytes);
    return standing_in;
  }
}

bool PairCopies::involved(const Call& call, int peer) const {
  return part(call, rank_, peer).bytes > 0 || part(call, peer, rank_).bytes > 0;
}

std::atomic<std::uint64_t>& PairCopies::state(int peer, std::uint64_t number) const {
  const int lower = peer < rank_ ? peer : rank_, higher = peer < rank_ ? rank_ : peer;
  return (*segment_)->states[lower][higher][number % kCallsAhead];
}

bool PairCopies::come_second(int peer, std::uint64_t number) {
  std::atomic<std::uint64_t>& who = state(peer, number);
  std::uint64_t seen = who.load(std::memory_order_acquire);
  for (;;) {
    if (seen == (number | kRevoked)) {
      throw PeerFailed("rank " + std::to_string(peer) + " has aborted");
    }
    const bool second = seen == number;
    if (who.compare_exchange_weak(seen, second ? number | kTaken : number,
                                  std::memory_order_acq_rel, std::memory_order_acquire)) {
      return second;
    }
  }
}

void PairCopies::follow_last(Stream user) {
  if (last_ == Last::none || last_stream_ == user) return;
  if (last_ == Last::other) {
    if (device_.capturing(last_stream_)) return;
    device_.record(*other_work_, last_stream_);
  }
  device_.wait(user, last_ == Last::other ? *other_work_ : *last_call_);
}

void PairCopies::order_other_work(Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == Last::call && last_stream_ != user && !device_.capturing(user)) {
    device_.wait(user, *last_call_);
  }
  if (last_ != Last::none) last_ = Last::other;
  last_stream_ = user;
}

void PairCopies::fork(const std::vector<Stream>& streams) {
  const std::unique_ptr<StreamEvent> event = device_.create_event();
  for (std::size_t i = 1; i < streams.size(); ++i) {
    device_.record(*event, streams[i]);
    device_.wait(streams[0], *event);
  }
}

void PairCopies::join(const std::vector<Stream>& streams) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Stream each : streams) {
    if (each != last_stream_) device_.wait(each, *last_call_);
  }
}

void PairCopies::count(const Call& call, const Second& second) {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_ || !involved(call, peer)) continue;
    Sequence& of_first = second[peer] ? theirs_[peer] : mine_[peer];
    Sequence& of_second = second[peer] ? mine_[peer] : theirs_[peer];
    ++of_first.ready;
    const int from = second[peer] ? rank_ : peer, to = second[peer] ? peer : rank_;
    if (part(call, from, to).bytes > 0) ++of_second.pushed;
    if (part(call, to, from).bytes > 0) ++of_second.pulled;
  }
}

void PairCopies::signal_ready(const Call& call, const Second& second, Stream user) {
  std::vector<WordOperation> signals;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_ || second[peer] || !involved(call, peer)) continue;
    signals.push_back({What::set, &words(rank_, peer).ready, mine_[peer].ready});
  }
  if (!signals.empty()) device_.words(user, signals);
}

void PairCopies::copy_as_second(const Call& call, const Buffers& mine, const Second& second,
                                std::uint64_t number, Stream user) {
  bool any = false;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (!second[peer]) continue;
    any = true;
    check_same(call, peer, number);
  }
  if (!any) {
    copy_own_part(call, mine, user);
    return;
  }
  device_.record(*begin_, user);
  device_.wait(push_lane_, *begin_);
  device_.wait(pull_lane_, *begin_);
  for (int step = 1; step < ranks_; ++step) {
    const int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
    if (second[to]) push(call, mine, to, number);
    if (second[from]) pull(call, mine, from, number);
  }
  copy_own_part(call, mine, user);
  device_.record(*pushed_, push_lane_);
  device_.record(*pulled_, pull_lane_);
  device_.wait(user, *pushed_);
  device_.wait(user, *pulled_);
}

void PairCopies::check_same(const Call& call, int peer, std::uint64_t number) const {
  const CallRecord& record = (*segment_)->records[peer][number % kCallsAhead];
  if (record.kind != static_cast<std::uint32_t>(call.kind) || record.bytes != call.bytes ||
      record.root != static_cast<std::uint32_t>(call.root)) {
    throw BadArgument("ranks " + std::to_string(rank_) + " and " + std::to_string(peer) +
                      " make different calls: expected the same kind, count, type and root");
  }
}

void PairCopies::push(const Call& call, const Buffers& mine, int to, std::uint64_t number) {
  const Part sent = part(call, rank_, to);
  if (sent.bytes == 0) return;
  const CallRecord& record = (*segment_)->records[to][number % kCallsAhead];
  char* target = borrowed_.address(to, record.receive) + sent.to;
  device_.words(push_lane_, {{What::wait, &words(to, rank_).ready, theirs_[to].ready}});
  device_.copy(push_lane_, target, mine.send + sent.from, sent.bytes);
  device_.words(push_lane_, {{What::set, &words(rank_, to).pushed, mine_[to].pushed}});
}

void PairCopies::pull(const Call& call, const Buffers& mine, int from, std::uint64_t number) {
  const Part received = part(call, from, rank_);
  if (received.bytes == 0) return;
  const CallRecord& record = (*segment_)->records[from][number % kCallsAhead];
  const char* source = borrowed_.address(from, record.send) + received.from;
  device_.words(pull_lane_, {{What::wait, &words(from, rank_).ready, theirs_[from].ready}});
  device_.copy(pull_lane_, mine.receive + received.to, source, received.bytes);
  device_.words(pull_lane_, {{What::set, &words(rank_, from).pulled, mine_[from].pulled}});
}

void PairCopies::copy_own_part(const Call& call, const Buffers& mine, Stream user) {
  const Part own = part(call, rank_, rank_);
  if (own.bytes == 0) return;
  const char* source = mine.send + own.from;
  char* target = mine.receive + own.to;
  // In place as the user sees it is in place only if neither buffer has a stand-in.
  if (source != target) device_.copy(user, target, source, own.bytes);
}

void PairCopies::wait_for_seconds(const Call& call, const Second& second, Stream user) {
  std::vector<WordOperation> waits;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_ || second[peer] || !involved(call, peer)) continue;
    if (part(call, peer, rank_).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pushed, theirs_[peer].pushed});
    }
    if (part(call, rank_, peer).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pulled, theirs_[peer].pulled});
    }
  }
  waits.push_back({What::wait, &gate(rank_), kGateOpen});
  device_.words(user, waits);
}

bool PairCopies::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (number_ > 0 && !device_.done(*last_call_)) {
    if (ending_ || !error().empty()) return false;
    pause();
  }
  return true;
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
  (*segment_)->broken.store(1, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank)
    gate(rank).store(kGateClosed, std::memory_order_release);
}

// Whether streams of this rank wait for a word of the peer's.
bool PairCopies::waits_for(int peer) const {
  const PairWords& from = words(peer, rank_);
  const Sequence& expected = theirs_[peer];
  return !has_come(from.ready, expected.ready) || !has_come(from.pushed, expected.pushed) ||
         !has_come(from.pulled, expected.pulled);
}

void PairCopies::watch() {
  if (ending_ || !error().empty()) return;
  if ((*segment_)->broken.load(std::memory_order_acquire) != 0) {
    set_error("another rank has failed or aborted");
    return;
  }
  for (int peer = 0; peer < ranks_; ++peer) {
    if (processes_[peer] == nullptr || !waits_for(peer) || !processes_[peer]->has_ended()) continue;
    // The other ranks find out by themselves. Nothing is released: this rank's streams stop here.
    set_error("the process of rank " + std::to_string(peer) + " has ended");
    gate(rank_).store(kGateClosed, std::memory_order_release);
    return;
  }
}

// Takes back the calls that a peer has not come to; the peer's share of them is not to be expected.
PairCopies::Unsettled PairCopies::revoke_untaken() {
  Unsettled expected{};
  for (int peer = 0; peer < ranks_; ++peer) {
    expected[peer] = {theirs_[peer].pushed, theirs_[peer].pulled, false, false};
    const std::uint64_t oldest = number_ > kCallsAhead ? number_ - kCallsAhead + 1 : 1;
    for (std::uint64_t number = oldest; peer != rank_ && number <= number_; ++number) {
      std::uint64_t untaken = number;
      if (!state(peer, number).compare_exchange_strong(untaken, number | kRevoked)) continue;
      const CallRecord& record = (*segment_)->records[rank_][number % kCallsAhead];
      const Call call{static_cast<Kind>(record.kind), nullptr, nullptr, record.bytes,
                      static_cast<int>(record.root)};
      if (part(call, peer, rank_).bytes > 0) --expected[peer].pushed;
      if (part(call, rank_, peer).bytes > 0) --expected[peer].pulled;
    }
  }
  return expected;
}

// One look at all words that this rank's streams may wait for.
void PairCopies::end_own_waits(Unsettled& unsettled) {
  gate(rank_).store(kGateOpen, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    PairWords& from = words(peer, rank_);
    Share& share = unsettled[peer];
    share.has_pushed |= from.pushed.load(std::memory_order_acquire) == share.pushed;
    share.has_pulled |= from.pulled.load(std::memory_order_acquire) == share.pulled;
    force(from.ready, theirs_[peer].ready);
    force(from.pushed, theirs_[peer].pushed);
    force(from.pulled, theirs_[peer].pulled);
  }
}

bool PairCopies::may_touch(int peer, const Share& share) const {
  if (peer == rank_ || (share.has_pushed && share.has_pulled)) return false;
  if ((*segment_)->ranks[peer].drained.load(std::memory_order_acquire) != 0) return false;
  return processes_[peer] == nullptr || !processes_[peer]->has_ended();
}

void PairCopies::abort(double seconds) {
  ending_ = true;  // a thread in enqueue() or drain() lets go of the mutex
  break_with("aborted");
  const std::lock_guard<std::mutex> lock(mutex_);
  Unsettled unsettled = revoke_untaken();
  try_record(*pushed_, push_lane_);
  try_record(*pulled_, pull_lane_);
  const Until limit(seconds);
  const auto runs = [&] {
    return !device_.done(*pushed_) || !device_.done(*pulled_) ||
           (number_ > 0 && !device_.done(*last_call_));
  };
  for (end_own_waits(unsettled); runs(); end_own_waits(unsettled)) {
    if (limit.passed()) {
      stuck_ = true;
      warn("work of this rank still runs");
      return;
    }
    pause();
  }
  (*segment_)->ranks[rank_].drained.store(1, std::memory_order_release);
  for (int peer = 0; peer < ranks_; ++peer) {
    for (; may_touch(peer, unsettled[peer]); end_own_waits(unsettled)) {
      if (limit.passed()) {
        warn("rank " + std::to_string(peer) + " may still copy from or to this rank's buffers");
        return;
      }
      pause();
    }
  }
}

void PairCopies::warn(const std::string& what) {
  const std::lock_guard<std::mutex> lock(error_mutex_);
  warning_ = what;
}

}  // namespace duet::nccl_shim
