// Small calls of PairCopies: every rank sends every other the same number of bytes, as packets.
// They need no gate: an exchange that has ended has all that it waited for, unless this rank has
// aborted.
#include <algorithm>

#include "nccl_shim/protocol/pair_copies.h"

namespace duet::nccl_shim {

// Of a broadcast not all ranks would wait for all, as the turns of packet buffers need.
bool PairCopies::by_packets(const Call& call) const {
  return call.kind != Kind::broadcast && all_bytes(call, ranks_) <= method_.most_by_packets;
}

char* PairCopies::own_packets() const {
  const RankEntry& own = (*segment_)->ranks[rank_];
  return slots_ + (own.packets.offset - own.slots.offset);
}

std::size_t PairCopies::packet_buffer(int source, int receiver) const {
  const int place = source < receiver ? source : source - 1;
  return static_cast<std::size_t>(place) * packet_bytes(method_.most_by_packets);
}

// What stands in own_packets(): packet buffers of all peers for calls of even numbers, and of odd
// ones, what they unpack for reductions, and the number of the last call.
std::size_t PairCopies::packet_turn() const {
  return static_cast<std::size_t>(ranks_ - 1) * packet_bytes(method_.most_by_packets);
}

std::uint32_t* PairCopies::last_number() const {
  char* const unpacked = own_packets() + 2 * packet_turn();
  return reinterpret_cast<std::uint32_t*>(unpacked + static_cast<std::size_t>(ranks_ - 1) *
                                                         method_.most_by_packets);
}

std::size_t PairCopies::packet_memory() const {
  if (method_.most_by_packets == 0) return 0;
  return 2 * packet_turn() + static_cast<std::size_t>(ranks_ - 1) * method_.most_by_packets +
         kPacketBlocks * sizeof(std::uint32_t);
}

char* PairCopies::unpacked(int source) const {
  const int place = source < rank_ ? source : source - 1;
  return own_packets() + 2 * packet_turn() +
         static_cast<std::size_t>(place) * method_.most_by_packets;
}

// Whether a kernel of the rank has begun an exchange and has not ended it.
bool PairCopies::exchanges(int rank) const {
  const std::uint32_t begun = packet_words(rank).begun.load(std::memory_order_acquire);
  return !has_made(rank, begun);
}

bool PairCopies::has_made(int rank, std::uint32_t number) const {
  const auto& made = packet_words(rank).made;
  return std::all_of(made.begin(), made.end(), [number](const Word& of_block) {
    return has_come(of_block.load(std::memory_order_acquire), number);
  });
}

bool PairCopies::waits_for_packets_of(int peer) const {
  return exchanges(rank_) &&
         !has_made(peer, packet_words(rank_).begun.load(std::memory_order_acquire));
}

void PairCopies::enqueue_packets(const Call& call, Stream user) {
  const bool of_one = call.kind == Kind::all_gather || call.kind == Kind::all_reduce;
  const auto* const send = static_cast<const char*>(call.send);
  auto* const receive = static_cast<char*>(call.receive);
  const auto sent_to = [&](int rank) {
    return send + (of_one ? 0 : static_cast<std::size_t>(rank) * call.bytes);
  };
  const auto received_from = [&](int rank) {
    return reduces(call.kind) ? unpacked(rank)
                              : receive + static_cast<std::size_t>(rank) * call.bytes;
  };
  PacketExchange exchanged{{}, call.bytes, packet_turn(), last_number(), &packet_words(rank_)};
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (rank_ + step) % ranks_;
    char* const theirs = borrowed_.address(peer, (*segment_)->ranks[peer].packets);
    exchanged.peers.push_back({sent_to(peer), theirs + packet_buffer(rank_, peer),
                               own_packets() + packet_buffer(peer, rank_), received_from(peer)});
  }
  device_.exchange(user, exchanged);
  if (reduces(call.kind)) {
    PartsToReduce parts{receive, {}, call.bytes, call.type, call.reduction};
    for (int rank = 0; rank < ranks_; ++rank) {
      parts.parts.push_back(rank == rank_ ? sent_to(rank) : unpacked(rank));
    }
    device_.reduce(user, parts);
  } else if (sent_to(rank_) != received_from(rank_)) {
    device_.copy(user, received_from(rank_), sent_to(rank_), call.bytes);
  }
}

}  // namespace duet::nccl_shim
