// Small calls of PairCopies: every rank sends every other the same number of bytes, as packets.
// They need no gate: an exchange that has ended has all that it waited for, unless this rank has
// aborted.
#include <chrono>
#include <thread>

#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {

// Of a broadcast not all ranks would wait for all, as the turns of packet buffers need.
bool PairCopies::by_packets(const Call& call) const {
  return call.kind != Kind::broadcast && all_bytes(call, ranks_) <= method_.most_by_packets;
}

char* PairCopies::own_packets() const {
  const RankEntry& own = (*shared_)->ranks[rank_];
  return slots_ + (own.packets.offset - own.slots.offset);
}

std::size_t PairCopies::packet_buffer(int source, int receiver) const {
  const int place = source < receiver ? source : source - 1;
  return static_cast<std::size_t>(place) * packet_bytes(method_.most_by_packets);
}

// What stands in own_packets(): packet buffers of all peers for calls of even numbers, and of odd
// ones, and the number of the last call.
std::size_t PairCopies::packet_turn() const {
  return static_cast<std::size_t>(ranks_ - 1) * packet_bytes(method_.most_by_packets);
}

std::uint32_t* PairCopies::last_number() const {
  return reinterpret_cast<std::uint32_t*>(own_packets() + 2 * packet_turn());
}

std::size_t PairCopies::packet_memory() const {
  if (method_.most_by_packets == 0) return 0;
  return 2 * packet_turn() + kPacketBlocks * sizeof(std::uint32_t);
}

// The word may have been set by an exchange that has ended since. So it is cleared: an exchange
// that still waits sets it again within a millisecond, or in its context's next time slice. Twice,
// since a thread of the device that was held back may set it once more after the packet has come.
bool PairCopies::waits_for_packets_of(int peer) const {
  constexpr std::chrono::milliseconds kAnswer{20};
  Word& awaited = packet_words(rank_).awaited[peer];
  for (int question = 0; question < 2; ++question) {
    if (awaited.exchange(0) == 0) return false;
    std::this_thread::sleep_for(kAnswer);
  }
  return awaited.load(std::memory_order_acquire) != 0;
}

void PairCopies::enqueue_packets(const Call& call, Stream user) {
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
  PacketExchange exchanged{};
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    char* const theirs = borrowed_.address(peer, (*shared_)->ranks[peer].packets);
    exchanged.peers.push_back({sent_to(peer), theirs + packet_buffer(rank_, peer),
                               own_packets() + packet_buffer(peer, rank_),
                               reduced ? nullptr : received_from(peer)});
  }
  exchanged.rank = rank_;
  exchanged.own = sent_to(rank_);
  exchanged.result = received_from(rank_);
  if (reduced) exchanged.reduced = {call.type, call.reduction};
  exchanged.bytes = call.bytes;
  exchanged.turn = packet_turn();
  exchanged.last = last_number();
  exchanged.words = &packet_words(rank_);
  device_.exchange(user, exchanged);
}

}  // namespace duet::nccl_shim
