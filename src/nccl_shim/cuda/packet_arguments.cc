#include "nccl_shim/cuda/packet_arguments.h"

#include <cstddef>

#include "core/error.h"

namespace duet::nccl_shim::cuda {

PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words) {
  if (exchanged.peers.size() > kMostPacketPeers) throw BadArgument("expected at most 16 peers");
  PacketArguments made{};
  gpu::PacketTable& table = made.exchange;
  for (const PacketExchange::Peer& each : exchanged.peers) {
    table.peers[table.count++] = {
        static_cast<const unsigned char*>(each.send), static_cast<unsigned char*>(each.to),
        static_cast<const unsigned char*>(each.from), static_cast<unsigned char*>(each.receive)};
  }
  table.own = static_cast<const unsigned char*>(exchanged.own);
  table.result = static_cast<unsigned char*>(exchanged.result);
  table.last = exchanged.last;
  table.bytes = exchanged.bytes;
  table.turn = exchanged.turn;
  table.rank = static_cast<std::uint32_t>(exchanged.rank);
  const bool averages = exchanged.reduced && exchanged.reduced->reduction == Reduction::avg;
  table.divisor = averages ? static_cast<std::int32_t>(table.count + 1) : 1;
  table.places = kPacketBlocks;
  table.aligned = gpu::has_aligned_parts(table);
  const auto word = [words](std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(words + offset);
  };
  made.ended = word(offsetof(PacketWords, ended));
  made.awaited = word(offsetof(PacketWords, awaited));
  return made;
}

}  // namespace duet::nccl_shim::cuda
