// How messages end where a communicator does: noticed as lost, or aborted (ending.h).
#include <algorithm>

#include "nccl_shim/protocol/message_copies.h"

namespace duet::nccl_shim {

bool MessageCopies::waits_for(int peer) const {
  const MessageWords& from = words(peer, rank_);
  return !has_come(from.receivable, to_[peer].pushed) || !has_come(from.pulled, to_[peer].pulled) ||
         !has_come(from.pushed, from_[peer].pushed) || !has_come(from.sendable, from_[peer].pulled);
}

void MessageCopies::revoke_untaken() {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    expected_[peer] = {from_[peer].pushed - revoked(peer, rank_, from_[peer].number),
                       to_[peer].pulled - revoked(rank_, peer, to_[peer].number)};
  }
}

// How many messages it takes back of the last ones from `source` to `destination`.
std::uint32_t MessageCopies::revoked(int source, int destination, std::uint64_t last) const {
  std::uint32_t count = 0;
  const std::uint64_t oldest = last > kMessagesAhead ? last - kMessagesAhead + 1 : 1;
  for (std::uint64_t number = oldest; number <= last; ++number) {
    std::uint64_t untaken = number | kLeft;
    count += shared_.message_states[source][destination][number % kMessagesAhead]
                 .compare_exchange_strong(untaken, number | kRevoked);
  }
  return count;
}

void MessageCopies::end_own_waits() {
  for (int peer = 0; peer < ranks_; ++peer) {
    MessageWords& from = words(peer, rank_);
    std::uint32_t unused = 0;
    force(from.receivable, to_[peer].pushed, unused);
    force(from.sendable, from_[peer].pulled, unused);
    force(from.pushed, from_[peer].pushed, seen_[peer].pushed);
    force(from.pulled, to_[peer].pulled, seen_[peer].pulled);
  }
}

void MessageCopies::record_ends() noexcept {
  for (auto* lanes : {&push_lanes_, &pull_lanes_}) {
    for (Lane& each : *lanes) {
      if (each.stream != nullptr) try_record(device_, *each.end, each.stream);
    }
  }
}

bool MessageCopies::runs() const {
  if (!device_.done(*ready_)) return true;
  const auto lane_runs = [this](const Lane& each) {
    return each.stream != nullptr && !device_.done(*each.end);
  };
  return std::any_of(push_lanes_.begin(), push_lanes_.end(), lane_runs) ||
         std::any_of(pull_lanes_.begin(), pull_lanes_.end(), lane_runs);
}

bool MessageCopies::may_touch(int peer) const {
  return seen_[peer].pushed != expected_[peer].pushed ||
         seen_[peer].pulled != expected_[peer].pulled;
}

}  // namespace duet::nccl_shim
