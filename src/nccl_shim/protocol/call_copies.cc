#include "nccl_shim/protocol/call_copies.h"

#include <utility>

namespace duet::nccl_shim {
CallCopies::CallCopies(const OwnRank& rank, const Method& method, LentMemory& lent,
                       BorrowedMemory& borrowed, const Failure& failure)
    : OwnRank(rank),
      failure_(failure),
      borrowed_(borrowed),
      memory_(rank,
              {Slots::bytes(ranks_, method), ExchangeCalls::packet_bytes(ranks_, method),
               ExchangeCalls::chunk_bytes(ranks_, method)},
              lent, borrowed),
      lanes_(device_),
      roles_(rank, method, failure),
      buffers_(rank, roles_, lanes_, lent, borrowed),
      slots_(rank, method, memory_, buffers_, lanes_),
      exchanges_(rank, method, memory_) {}

void CallCopies::begin(const Call& call, bool captured, bool in_group) {
  begun_.reset();  // of a call that an error other than the library's has left
  way_ = by_packets(call) ? Way::packets : by_chunks(call, captured) ? Way::chunks : Way::copies;
  if (is_by_kernel()) {
    begun_.emplace(BegunCall{call, 0, {}, {}, /*settled=*/true});
    return;
  }
  wait_for_room(number_ + 1);
  const Buffers mine = buffers_.publish(call, number_ + 1);
  begun_.emplace(BegunCall{call, ++number_, mine, {}, /*settled=*/false});
  roles_.take(*begun_, in_group);
}

// The record of call number - kCallsAhead is written over: nobody may read it any more.
void CallCopies::wait_for_room(std::uint64_t number) const {
  for (int peer = 0; peer < ranks_; ++peer) {
    const std::atomic<std::uint64_t>& arrived = shared_.ranks[peer].arrived;
    nccl_shim::wait_for_room(shared_, process(peer), peer, [&] {
      if (arrived.load(std::memory_order_acquire) + kCallsAhead >= number) return true;
      failure_.check_whole();
      return false;
    });
  }
}

// Who has come to the call, or has taken it back, is expected to do what it does for it.
void CallCopies::give_up() {
  if (begun_) settle();
  end();
}

void CallCopies::settle() {
  if (std::exchange(begun_->settled, true)) return;
  roles_.settle(*begun_);
  slots_.count(begun_->call);
}

void CallCopies::enqueue(Stream user) {
  const BegunCall& begun = *begun_;
  if (way_ == Way::packets) return exchanges_.enqueue_packets(begun.call, user);
  if (way_ == Way::chunks) return exchanges_.enqueue_chunks(begun.call, user);
  buffers_.stage(begun, user);
  settle();
  borrowed_.release_ended();  // of the peers' buffers in this call, none may be where one was
  roles_.check(begun);
  slots_.pass(begun, user);
  buffers_.signal_ready(begun, user);
  if (roles_.in_pairs(begun.call)) buffers_.copy(begun, user);
  shared_.ranks[rank_].arrived.store(begun.number, std::memory_order_release);
  buffers_.wait_for_peers(begun, user);
  buffers_.unstage(begun, user);
}

// Exchanges come last: they take long.
bool CallCopies::waits_for(int peer) const {
  return roles_.waits_for(peer) || slots_.waits_for(peer) || exchanges_.waits_for(peer);
}

void CallCopies::revoke_untaken() { slots_.expect_without(roles_.revoke_untaken(number_)); }

void CallCopies::end_own_waits() {
  exchanges_.end_own_waits();
  roles_.end_own_waits();
  slots_.end_own_waits();
}

bool CallCopies::may_touch(int peer) const {
  return roles_.may_touch(peer) || slots_.may_touch(peer);
}

}  // namespace duet::nccl_shim
