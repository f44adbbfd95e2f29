#include "nccl_shim/protocol/pair_roles.h"

#include <string>

#include "core/clock.h"
#include "core/error.h"

namespace duet::nccl_shim {

bool PairRoles::in_pairs(const Call& call) const {
  return !method_.staged && call.kind != Kind::reduce_scatter;
}

Part PairRoles::copied(const Call& call, int source, int destination) const {
  return in_pairs(call) ? part(call, source, destination, ranks_) : Part{};
}

bool PairRoles::involved(const Call& call, int peer) const {
  return reduces(call.kind) || method_.staged || copied(call, rank_, peer).bytes > 0 ||
         copied(call, peer, rank_).bytes > 0;
}

PairState& PairRoles::state(int peer, std::uint64_t number) const {
  const int lower = peer < rank_ ? peer : rank_, higher = peer < rank_ ? rank_ : peer;
  return shared_.states[lower][higher][number % kCallsAhead];
}

// A pair of which one sends the other nothing has one copy to make, whoever makes it.
double PairRoles::wait_seconds(const Call& call, int peer) const {
  const std::size_t sent = copied(call, rank_, peer).bytes;
  const std::size_t received = copied(call, peer, rank_).bytes;
  if (sent == 0 || received == 0) return 0;
  return method_.wait_seconds_per_byte * static_cast<double>(sent);
}

void PairRoles::take(BegunCall& begun, bool in_group) {
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (rank_ + step) % ranks_;
    if (!involved(begun.call, peer)) continue;
    const bool may_be_in_group = in_group && process(peer) == nullptr;
    const bool waits = may_be_in_group || wait_seconds(begun.call, peer) > 0;
    begun.roles[peer] = state(peer, begun.number).come(begun.number, waits);
  }
}

void PairRoles::settle(BegunCall& begun) {
  const double begin = steady_now();
  for (int peer = 0; peer < ranks_; ++peer) {
    if (begun.roles[peer] != Role::first) continue;
    const double end = begin + wait_seconds(begun.call, peer);
    if (state(peer, begun.number).wait_for_other(begun.number, end, failure_)) {
      begun.roles[peer] = Role::sharing;
    }
  }
  count(begun);
}

void PairRoles::count(const BegunCall& begun) {
  for (int peer = 0; peer < ranks_; ++peer) {
    const Role role = begun.roles[peer];
    if (role == Role::none) continue;
    const bool sends = copied(begun.call, rank_, peer).bytes > 0;
    const bool receives = copied(begun.call, peer, rank_).bytes > 0;
    if (role != Role::second) ++mine_[peer].ready;
    if (role != Role::first) ++theirs_[peer].ready;
    if (sends && role != Role::first) ++mine_[peer].pushed;
    if (receives && role != Role::second) ++theirs_[peer].pushed;
    if (receives && role == Role::second) ++mine_[peer].pulled;
    if (sends && role == Role::first) ++theirs_[peer].pulled;
  }
}

void PairRoles::check(const BegunCall& begun) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer != rank_ && involved(begun.call, peer) && begun.roles[peer] == Role::none) {
      throw PeerFailed("rank " + std::to_string(peer) + " has aborted");
    }
  }
  const std::uint64_t place = begun.number % kCallsAhead;
  const CallRecord& own = shared_.records[rank_][place];
  for (int peer = 0; peer < ranks_; ++peer) {
    const CallRecord& record = shared_.records[peer][place];
    if (begun.roles[peer] == Role::none || begun.roles[peer] == Role::first ||
        (record.kind == own.kind && record.bytes == own.bytes && record.root == own.root &&
         record.type == own.type && record.reduction == own.reduction)) {
      continue;
    }
    throw BadArgument(
        "ranks " + std::to_string(rank_) + " and " + std::to_string(peer) +
        " make different calls: expected the same kind, count, type, root and operation");
  }
}

bool PairRoles::waits_for(int peer) const {
  const PairWords& from = words(peer, rank_);
  const Sequence& expected = theirs_[peer];
  return !has_come(from.ready, expected.ready) || !has_come(from.pushed, expected.pushed) ||
         !has_come(from.pulled, expected.pulled);
}

TakenBack PairRoles::revoke_untaken(std::uint64_t last) {
  TakenBack taken_back;
  const std::uint64_t oldest = last > kCallsAhead ? last - kCallsAhead + 1 : 1;
  for (int peer = 0; peer < ranks_; ++peer) {
    expected_[peer] = {theirs_[peer].pushed, theirs_[peer].pulled};
    for (std::uint64_t number = oldest; peer != rank_ && number <= last; ++number) {
      if (!state(peer, number).revoke(number)) continue;
      const CallRecord& record = shared_.records[rank_][number % kCallsAhead];
      const Call call{static_cast<Kind>(record.kind), nullptr, nullptr, record.bytes,
                      static_cast<int>(record.root)};
      if (copied(call, peer, rank_).bytes > 0) --expected_[peer].pushed;
      if (copied(call, rank_, peer).bytes > 0) --expected_[peer].pulled;
      taken_back[peer].push_back(call);
    }
  }
  return taken_back;
}

void PairRoles::end_own_waits() {
  for (int peer = 0; peer < ranks_; ++peer) {
    PairWords& from = words(peer, rank_);
    std::uint32_t unused = 0;
    force(from.ready, theirs_[peer].ready, unused);
    force(from.pushed, theirs_[peer].pushed, seen_[peer].pushed);
    force(from.pulled, theirs_[peer].pulled, seen_[peer].pulled);
  }
}

bool PairRoles::may_touch(int peer) const {
  const Share &seen = seen_[peer], &expected = expected_[peer];
  return seen.pushed != expected.pushed || seen.pulled != expected.pulled;
}

}  // namespace duet::nccl_shim
