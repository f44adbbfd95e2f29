#include "nccl_shim/cuda/packet_arguments.h"

#include <algorithm>

#include "core/error.h"
#include "device/collective_kernel.h"

namespace duet::nccl_shim::cuda {

int packet_blocks(std::size_t bytes) {
  constexpr std::size_t kRound = std::size_t{8} * kKernelThreads;
  return static_cast<int>(std::clamp<std::size_t>((bytes + kRound - 1) / kRound, 1, kPacketBlocks));
}

PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words) {
  if (exchanged.peers.size() > kMostExchanging) throw BadArgument("expected at most 7 peers");
  PacketArguments made{};
  std::uintptr_t together = 0;
  for (const PacketExchange::Peer& each : exchanged.peers) {
    made.peers[made.count++] = {
        static_cast<const unsigned char*>(each.send), static_cast<unsigned char*>(each.to),
        static_cast<const unsigned char*>(each.from), static_cast<unsigned char*>(each.receive)};
    together |= reinterpret_cast<std::uintptr_t>(each.send);
    together |= reinterpret_cast<std::uintptr_t>(each.receive);
  }
  made.own = static_cast<const unsigned char*>(exchanged.own);
  made.result = static_cast<unsigned char*>(exchanged.result);
  together |= reinterpret_cast<std::uintptr_t>(made.own);
  together |= reinterpret_cast<std::uintptr_t>(made.result);
  made.last = exchanged.last;
  const auto word = [words](std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(words + offset);
  };
  made.ended = word(offsetof(PacketWords, ended));
  made.awaited = word(offsetof(PacketWords, awaited));
  made.bytes = exchanged.bytes;
  made.turn = exchanged.turn;
  made.rank = static_cast<std::uint32_t>(exchanged.rank);
  const bool averages = exchanged.reduced && exchanged.reduced->reduction == Reduction::avg;
  made.divisor = averages ? static_cast<std::int32_t>(made.count + 1) : 1;
  made.places = kPacketBlocks;
  made.wide = together % 8 == 0 ? 1 : 0;
  return made;
}

}  // namespace duet::nccl_shim::cuda
