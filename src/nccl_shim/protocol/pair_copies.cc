#include "nccl_shim/protocol/pair_copies.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace duet::nccl_shim {
namespace {

using What = WordOperation::What;

}  // namespace

PairCopies::PairCopies(ShimDevice& device, std::shared_ptr<SharedMemory> shared, int rank,
                       int ranks, const Method& method)
    : device_(device),
      shared_(std::move(shared)),
      rank_(rank),
      ranks_(ranks),
      lent_(device, **shared_, rank, ranks),
      borrowed_(device, **shared_, rank),
      send_staging_(device),
      receive_staging_(device),
      push_lane_(device.create_stream()),
      pull_lane_(device.create_stream()),
      begin_(device.create_event()),
      pushed_(device.create_event()),
      pulled_(device.create_event()),
      method_(method) {
  last_.call = device.create_event();
  make_slots();
  const auto& entries = (*shared_)->ranks;
  for (int peer = 0; peer < ranks; ++peer) {
    if (entries[peer].process != entries[rank].process) {
      processes_[peer] = std::make_unique<PeerProcess>(entries[peer].process);
    }
  }
  if (ranks <= kMostMessageRanks && !method.staged) {
    messages_.emplace(device_, shared_, rank, ranks, processes_, lent_, borrowed_,
                      method.wait_seconds_per_byte, ending_);
  }
  device_.share_words(&(*shared_)->words, sizeof(SharedBlock::Words));
  offer_segments();
}

void PairCopies::refuse_part(std::uint64_t part) {
  (*shared_)->refusals[rank_][refusals_++ % kRefusals] = part;
}

bool PairCopies::is_part_refused(std::uint64_t part) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    for (const auto& each : (*shared_)->refusals[rank]) {
      if (each == part) return true;
    }
  }
  return false;
}

void PairCopies::enqueue(const Call& call, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_locked(call, user, /*in_group=*/false);
  finish_locked();
}

void PairCopies::begin(const Call& call, Stream user) {
  const std::lock_guard<std::mutex> lock(mutex_);
  begin_locked(call, user, /*in_group=*/true);
}

void PairCopies::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finish_locked();
}

void PairCopies::or_break(Tail* tail, Stream user, const std::function<void()>& what) {
  bool follows = false;
  try {
    if (tail != nullptr) follow(*tail, user);
    follows = tail == &last_;
    what();
  } catch (const Error& error) {
    break_with(error.what());
    give_up_begun();
    record_ends();
    // Behind as much of the call as was enqueued. A stream that does not follow the calls before it
    // may be done while they still run; what is captured does not run.
    if (follows && device_.capture(user) == kNotCaptured) {
      try_record(device_, *last_.call, user);
    }
    throw;
  }
}

// Gives the streams nothing but waits for earlier calls: what a call is made of comes in the order
// in which calls finish, which is that in which they are made.
void PairCopies::begin_locked(const Call& call, Stream user, bool in_group) {
  std::optional<OutOfMemory> no_memory;
  or_break(nullptr, user, [&] {
    check_whole();
    Tail& tail = by_packets(call) ? tail_of(device_.capture(user)) : last_;
    begun_.emplace(Begun{call, user, tail, 0, {}, {}, false});
    if (by_packets(call)) return;
    wait_for_room(number_ + 1);
    try {
      begun_->mine = publish(call, number_ + 1);
    } catch (const OutOfMemory& error) {  // no rank knows of the call yet
      no_memory = error;
      begun_.reset();
      return;
    }
    begun_->number = ++number_;
    begun_->roles = take_roles(call, number_, in_group);
  });
  if (no_memory) throw *no_memory;
}

void PairCopies::finish_locked() {
  if (!begun_) throw PeerFailed("aborted in a group");
  const Stream user = begun_->user;
  or_break(&begun_->tail, user, [&] {
    if (by_packets(begun_->call)) {
      enqueue_packets(begun_->call, user);
    } else {
      finish_large(*begun_);
    }
    become_last(begun_->tail, user);
  });
  begun_.reset();
}

// Who has come to the call, or has taken it back, is expected to do what it does for it.
void PairCopies::give_up_begun() {
  if (begun_ && begun_->number != 0) settle(*begun_);
  begun_.reset();
  if (messages_) messages_->give_up();
}

void PairCopies::settle(Begun& begun) {
  if (begun.settled) return;
  wait_for_late_peers(begun.call, begun.roles, begun.number);
  count(begun.call, begun.roles);
  begun.settled = true;
}

void PairCopies::finish_large(Begun& begun) {
  const Call& call = begun.call;
  const Buffers& mine = begun.mine;
  const Roles& roles = begun.roles;
  const std::uint64_t number = begun.number;
  const Stream user = begun.user;
  const std::uint32_t first_piece = pieces_;
  if (mine.send_staged) {
    device_.copy(user, const_cast<char*>(mine.send), call.send, send_bytes(call, rank_, ranks_));
  }
  settle(begun);
  borrowed_.release_ended();  // of the peers' buffers in this call, none may be where one was
  check_not_revoked(call, roles);
  check_same(call, roles, number);
  pass_through_slots(call, mine, first_piece, user);
  signal_ready(roles, user);
  if (in_pairs(call)) copy_for_pairs(call, mine, roles, number, user);
  (*shared_)->ranks[rank_].arrived.store(number, std::memory_order_release);
  wait_for_peers(call, roles, user);
  if (mine.receive_staged) {
    device_.copy(user, call.receive, mine.receive, receive_bytes(call, ranks_));
  }
}

void PairCopies::check_whole() const {
  const std::string why = error();
  if (!why.empty()) throw PeerFailed(why);
  if ((*shared_)->broken.load(std::memory_order_acquire) != 0) {
    throw PeerFailed("another rank has failed or aborted");
  }
}

// The record of call number - kCallsAhead is written over: nobody may read it any more.
void PairCopies::wait_for_room(std::uint64_t number) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    const std::atomic<std::uint64_t>& arrived = (*shared_)->ranks[peer].arrived;
    nccl_shim::wait_for_room(**shared_, processes_[peer].get(), peer, [&] {
      if (arrived.load(std::memory_order_acquire) + kCallsAhead >= number) return true;
      check_whole();
      return false;
    });
  }
}

PairCopies::Buffers PairCopies::publish(const Call& call, std::uint64_t number) {
  CallRecord& record = (*shared_)->records[rank_][number % kCallsAhead];
  record.kind = static_cast<std::uint32_t>(call.kind);
  record.root = static_cast<std::uint32_t>(call.root);
  record.type = static_cast<std::uint32_t>(call.type);
  record.reduction = static_cast<std::uint32_t>(call.reduction);
  record.bytes = call.bytes;
  if (!in_pairs(call)) {  // its buffers are its rank's affair
    return {static_cast<const char*>(call.send), static_cast<char*>(call.receive), false, false};
  }
  const std::size_t sent = send_bytes(call, rank_, ranks_);
  const std::size_t received = receive_bytes(call, ranks_);
  const char* receive = lend(call.receive, received, receive_staging_, record.receive);
  if (call.kind == Kind::all_reduce) {  // copies are of what has been reduced
    record.send = record.receive;
    return {receive, const_cast<char*>(receive), false, receive != call.receive};
  }
  const char* send = lend(call.send, sent, send_staging_, record.send);
  return {send, const_cast<char*>(receive), sent > 0 && send != call.send, receive != call.receive};
}

const char* PairCopies::lend(const void* buffer, std::size_t bytes, StagingBuffer& staging,
                             BufferPlace& place) {
  place = {};
  if (bytes == 0) return static_cast<const char*>(buffer);
  try {
    place = lent_.place(buffer, bytes);
    return static_cast<const char*>(buffer);
  } catch (const Unavailable&) {
    const char* staged = staging.at_least(bytes);
    place = lent_.place(staged, bytes, LentMemory::Owner::drop_in);
    return staged;
  }
}

bool PairCopies::in_pairs(const Call& call) const {
  return !method_.staged && call.kind != Kind::reduce_scatter;
}

Part PairCopies::copied(const Call& call, int source, int destination) const {
  return in_pairs(call) ? part(call, source, destination, ranks_) : Part{};
}

bool PairCopies::involved(const Call& call, int peer) const {
  return reduces(call.kind) || method_.staged || copied(call, rank_, peer).bytes > 0 ||
         copied(call, peer, rank_).bytes > 0;
}

std::atomic<std::uint64_t>& PairCopies::state(int peer, std::uint64_t number) const {
  const int lower = peer < rank_ ? peer : rank_, higher = peer < rank_ ? rank_ : peer;
  return (*shared_)->states[lower][higher][number % kCallsAhead];
}

// A pair of which one sends the other nothing has one copy to make, whoever makes it.
double PairCopies::wait_seconds(const Call& call, int peer) const {
  const std::size_t sent = copied(call, rank_, peer).bytes;
  const std::size_t received = copied(call, peer, rank_).bytes;
  if (sent == 0 || received == 0) return 0;
  return method_.wait_seconds_per_byte * static_cast<double>(sent);
}

PairCopies::Roles PairCopies::take_roles(const Call& call, std::uint64_t number, bool in_group) {
  Roles roles{};
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (rank_ + step) % ranks_;
    if (!involved(call, peer)) continue;
    const bool may_be_in_group = in_group && processes_[peer] == nullptr;
    roles[peer] = take_role(peer, number, may_be_in_group || wait_seconds(call, peer) > 0);
  }
  return roles;
}

PairCopies::Role PairCopies::take_role(int peer, std::uint64_t number, bool waits) {
  std::atomic<std::uint64_t>& who = state(peer, number);
  std::uint64_t seen = who.load(std::memory_order_acquire);
  for (;;) {
    if (seen == (number | kRevoked)) return Role::none;
    Role role = Role::first;
    std::uint64_t next = waits ? number : number | kLeft;
    if (seen == number) {
      role = Role::sharing;
      next = number | kShared;
    } else if (seen == (number | kLeft)) {
      role = Role::second;
      next = number | kTaken;
    }
    if (who.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                  std::memory_order_acquire)) {
      return role;
    }
  }
}

void PairCopies::wait_for_late_peers(const Call& call, Roles& roles, std::uint64_t number) {
  const double begin = steady_now();
  for (int peer = 0; peer < ranks_; ++peer) {
    if (roles[peer] != Role::first) continue;
    const double end = begin + wait_seconds(call, peer);
    std::atomic<std::uint64_t>& who = state(peer, number);
    while (who.load(std::memory_order_acquire) == number && !ending_ && steady_now() < end) {
      std::this_thread::yield();
    }
    std::uint64_t seen = number;
    who.compare_exchange_strong(seen, number | kLeft, std::memory_order_acq_rel,
                                std::memory_order_acquire);
    if (seen == (number | kShared)) roles[peer] = Role::sharing;
  }
}

void PairCopies::check_not_revoked(const Call& call, const Roles& roles) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer != rank_ && involved(call, peer) && roles[peer] == Role::none) {
      throw PeerFailed("rank " + std::to_string(peer) + " has aborted");
    }
  }
}

void PairCopies::count(const Call& call, const Roles& roles) {
  pieces_ += pieces(call);
  for (int peer = 0; peer < ranks_; ++peer) {
    const Role role = roles[peer];
    if (role == Role::none) continue;
    const bool sends = copied(call, rank_, peer).bytes > 0;
    const bool receives = copied(call, peer, rank_).bytes > 0;
    if (role != Role::second) ++mine_[peer].ready;
    if (role != Role::first) ++theirs_[peer].ready;
    if (sends && role != Role::first) ++mine_[peer].pushed;
    if (receives && role != Role::second) ++theirs_[peer].pushed;
    if (receives && role == Role::second) ++mine_[peer].pulled;
    if (sends && role == Role::first) ++theirs_[peer].pulled;
  }
}

void PairCopies::signal_ready(const Roles& roles, Stream user) {
  std::vector<WordOperation> signals;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (roles[peer] != Role::first && roles[peer] != Role::sharing) continue;
    signals.push_back({What::set, &words(rank_, peer).ready, mine_[peer].ready});
  }
  if (!signals.empty()) device_.words(user, signals);
}

void PairCopies::copy_for_pairs(const Call& call, const Buffers& mine, const Roles& roles,
                                std::uint64_t number, Stream user) {
  const auto copies = [](Role role) { return role == Role::second || role == Role::sharing; };
  if (std::none_of(roles.begin(), roles.end(), copies)) {
    copy_own_part(call, mine, user);
    return;
  }
  device_.record(*begin_, user);
  device_.wait(push_lane_, *begin_);
  device_.wait(pull_lane_, *begin_);
  for (int step = 1; step < ranks_; ++step) {
    const int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
    if (copies(roles[to])) push(call, mine, to, number);
    if (roles[from] == Role::second) pull(call, mine, from, number);
  }
  copy_own_part(call, mine, user);
  device_.record(*pushed_, push_lane_);
  device_.record(*pulled_, pull_lane_);
  device_.wait(user, *pushed_);
  device_.wait(user, *pulled_);
}

void PairCopies::check_same(const Call& call, const Roles& roles, std::uint64_t number) const {
  const CallRecord& own = (*shared_)->records[rank_][number % kCallsAhead];
  for (int peer = 0; peer < ranks_; ++peer) {
    const CallRecord& record = (*shared_)->records[peer][number % kCallsAhead];
    if (roles[peer] == Role::none || roles[peer] == Role::first ||
        (record.kind == own.kind && record.bytes == call.bytes && record.root == own.root &&
         record.type == own.type && record.reduction == own.reduction)) {
      continue;
    }
    throw BadArgument(
        "ranks " + std::to_string(rank_) + " and " + std::to_string(peer) +
        " make different calls: expected the same kind, count, type, root and operation");
  }
}

void PairCopies::push(const Call& call, const Buffers& mine, int to, std::uint64_t number) {
  const Part sent = part(call, rank_, to, ranks_);
  if (sent.bytes == 0) return;
  const CallRecord& record = (*shared_)->records[to][number % kCallsAhead];
  char* target = borrowed_.address(to, record.receive, processes_[to].get()) + sent.to;
  device_.words(push_lane_, {{What::wait, &words(to, rank_).ready, theirs_[to].ready}});
  device_.copy(push_lane_, target, mine.send + sent.from, sent.bytes);
  device_.words(push_lane_, {{What::set, &words(rank_, to).pushed, mine_[to].pushed}});
}

void PairCopies::pull(const Call& call, const Buffers& mine, int from, std::uint64_t number) {
  const Part received = part(call, from, rank_, ranks_);
  if (received.bytes == 0) return;
  const CallRecord& record = (*shared_)->records[from][number % kCallsAhead];
  const char* source = borrowed_.address(from, record.send, processes_[from].get()) + received.from;
  device_.words(pull_lane_, {{What::wait, &words(from, rank_).ready, theirs_[from].ready}});
  device_.copy(pull_lane_, mine.receive + received.to, source, received.bytes);
  device_.words(pull_lane_, {{What::set, &words(rank_, from).pulled, mine_[from].pulled}});
}

void PairCopies::copy_own_part(const Call& call, const Buffers& mine, Stream user) {
  const Part own = part(call, rank_, rank_, ranks_);
  if (own.bytes == 0) return;
  const char* source = mine.send + own.from;
  char* target = mine.receive + own.to;
  // In place as the user sees it is in place only if neither buffer is staged.
  if (source != target) device_.copy(user, target, source, own.bytes);
}

void PairCopies::wait_for_peers(const Call& call, const Roles& roles, Stream user) {
  std::vector<WordOperation> waits;
  for (int peer = 0; peer < ranks_; ++peer) {
    const Role role = roles[peer];
    if (role != Role::first && role != Role::sharing) continue;
    if (copied(call, peer, rank_).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pushed, theirs_[peer].pushed});
    }
    if (role == Role::first && copied(call, rank_, peer).bytes > 0) {
      waits.push_back({What::wait, &words(peer, rank_).pulled, theirs_[peer].pulled});
    }
  }
  waits.push_back({What::wait, &gate(rank_), kGateOpen});
  device_.words(user, waits);
}

}  // namespace duet::nccl_shim
