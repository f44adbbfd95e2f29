// Small calls of PairCopies: every rank sends every other the same number of bytes, as packets.
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

std::size_t PairCopies::packet_buffer(int source, int receiver, std::uint32_t number) const {
  const int place = source < receiver ? source : source - 1;
  return (number % 2 * static_cast<std::size_t>(ranks_ - 1) + static_cast<std::size_t>(place)) *
         packet_bytes(method_.most_by_packets);
}

// Behind the packet buffers.
char* PairCopies::unpacked(int source) const {
  const int place = source < rank_ ? source : source - 1;
  const auto peers = static_cast<std::size_t>(ranks_ - 1);
  return own_packets() + (4 * peers + static_cast<std::size_t>(place)) * method_.most_by_packets;
}

void PairCopies::enqueue_packets(const Call& call, Stream user) {
  std::uint32_t number = packets_ + 1;
  if (number == 0) number = 2;  // as if of the call after 0, in the other buffers than the last
  packets_ = number;
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
  PacketExchange exchanged{{}, call.bytes, number, &packet_words(rank_).ended};
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (rank_ + step) % ranks_;
    char* const theirs = borrowed_.address(peer, (*segment_)->ranks[peer].packets);
    exchanged.peers.push_back({sent_to(peer), theirs + packet_buffer(rank_, peer, number),
                               own_packets() + packet_buffer(peer, rank_, number),
                               received_from(peer)});
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
  using What = WordOperation::What;
  device_.words(user, {{What::set, &packet_words(rank_).made, number},
                       {What::wait, &gate(rank_), kGateOpen}});
}

}  // namespace duet::nccl_shim
