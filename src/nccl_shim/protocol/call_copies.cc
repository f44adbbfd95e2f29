#include "nccl_shim/protocol/call_copies.h"

#include <chrono>
#include <thread>
#include <utility>

namespace duet::nccl_shim {
namespace {

// In each rank's memory stand packet buffers of all peers for calls of even numbers, and of odd
// ones, and the number of the last call. How long the first two are:
std::size_t turn_bytes(int ranks, std::size_t most) {
  return static_cast<std::size_t>(ranks - 1) * packet_bytes(most);
}

}  // namespace

std::size_t PacketCalls::bytes(int ranks, const Method& method) {
  if (method.most_by_packets == 0) return 0;
  return 2 * turn_bytes(ranks, method.most_by_packets) + kPacketBlocks * sizeof(std::uint32_t);
}

// Of a broadcast not all ranks would wait for all, as the turns of packet buffers need.
bool PacketCalls::takes(const Call& call) const {
  return call.kind != Kind::broadcast && all_bytes(call, ranks_) <= most_;
}

std::size_t PacketCalls::buffer(int source, int receiver) const {
  const int place = source < receiver ? source : source - 1;
  return static_cast<std::size_t>(place) * packet_bytes(most_);
}

void PacketCalls::enqueue(const Call& call, Stream user) {
  const bool of_one = call.kind == Kind::all_gather || call.kind == Kind::all_reduce;
  const auto* const send = static_cast<const char*>(call.send);
  auto* const receive = static_cast<char*>(call.receive);
  const auto sent_to = [&](int rank) {
    return send + (of_one ? 0 : static_cast<std::size_t>(rank) * call.bytes);
  };
  const bool reduced = reduces(call.kind);
  const auto received_from = [&](int rank) {
    return receive + (reduced ? 0 : static_cast<std::size_t>(rank) * call.bytes);
  };
  char* const own = memory_.packets();
  PacketExchange exchanged{};
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    exchanged.peers.push_back({sent_to(peer), memory_.packets_of(peer) + buffer(rank_, peer),
                               own + buffer(peer, rank_), reduced ? nullptr : received_from(peer)});
  }
  exchanged.rank = rank_;
  exchanged.own = sent_to(rank_);
  exchanged.result = received_from(rank_);
  if (reduced) exchanged.reduced = {call.type, call.reduction};
  exchanged.bytes = call.bytes;
  exchanged.turn = turn_bytes(ranks_, most_);
  exchanged.last = reinterpret_cast<std::uint32_t*>(own + 2 * exchanged.turn);
  exchanged.words = &own_words();
  device_.exchange(user, exchanged);
}

// The word may have been set by an exchange that has ended since. So it is cleared: an exchange
// that still waits sets it again within a millisecond, or in its context's next time slice. Twice,
// since a thread of the device that was held back may set it once more after the packet has come.
bool PacketCalls::waits_for(int peer) const {
  constexpr std::chrono::milliseconds kAnswer{20};
  Word& awaited = own_words().awaited[peer];
  for (int question = 0; question < 2; ++question) {
    if (awaited.exchange(0) == 0) return false;
    std::this_thread::sleep_for(kAnswer);
  }
  return awaited.load(std::memory_order_acquire) != 0;
}

void PacketCalls::end_own_waits() { own_words().ended.store(1, std::memory_order_release); }

CallCopies::CallCopies(const OwnRank& rank, const Method& method, LentMemory& lent,
                       BorrowedMemory& borrowed, const Failure& failure)
    : OwnRank(rank),
      failure_(failure),
      borrowed_(borrowed),
      memory_(rank, Slots::bytes(ranks_, method), PacketCalls::bytes(ranks_, method), lent,
              borrowed),
      lanes_(device_),
      roles_(rank, method, failure),
      buffers_(rank, roles_, lanes_, lent, borrowed),
      slots_(rank, method, memory_, buffers_, lanes_),
      packets_(rank, method, memory_) {}

void CallCopies::begin(const Call& call, bool in_group) {
  begun_.reset();  // of a call that an error other than the library's has left
  if (by_packets(call)) {
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
  if (by_packets(begun.call)) {
    packets_.enqueue(begun.call, user);
    return;
  }
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

// Packets come last: they take long.
bool CallCopies::waits_for(int peer) const {
  return roles_.waits_for(peer) || slots_.waits_for(peer) || packets_.waits_for(peer);
}

void CallCopies::revoke_untaken() { slots_.expect_without(roles_.revoke_untaken(number_)); }

void CallCopies::end_own_waits() {
  packets_.end_own_waits();
  roles_.end_own_waits();
  slots_.end_own_waits();
}

bool CallCopies::may_touch(int peer) const {
  return roles_.may_touch(peer) || slots_.may_touch(peer);
}

}  // namespace duet::nccl_shim
