#include "nccl_shim/cuda/kernel_arguments.h"

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "device/collective_kernel.h"

namespace duet::nccl_shim::cuda {

PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words) {
  if (exchanged.peers.size() > kMostPacketPeers) throw BadArgument("expected at most 16 peers");
  PacketArguments made{};
  gpu::PacketTable& table = made.exchange;
  for (const PacketExchange::Peer& each : exchanged.peers) {
    table.peers[table.count++] = {static_cast<const unsigned char*>(each.send),
                                  static_cast<unsigned char*>(each.to),
                                  static_cast<unsigned char*>(const_cast<void*>(each.from)),
                                  static_cast<unsigned char*>(each.receive)};
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

int reduce_blocks(const PartsToReduce& reduced) {
  constexpr std::size_t kRound = std::size_t{16} * kKernelThreads;
  const auto most =
      static_cast<std::size_t>(blocks_that_reduce(static_cast<int>(reduced.parts.size())));
  return static_cast<int>(std::min(most, (reduced.bytes + kRound - 1) / kRound));
}

ReduceArguments reduce_arguments(const PartsToReduce& reduced, int blocks) {
  if (reduced.parts.size() > kMostParts) throw BadArgument("expected at most 8 parts");
  ReduceArguments made{};
  std::uintptr_t apart = 0;
  const auto add = [&](const void* address) {
    made.addresses[made.parts] = static_cast<unsigned char*>(const_cast<void*>(address));
    apart |= reinterpret_cast<std::uintptr_t>(address) ^
             reinterpret_cast<std::uintptr_t>(made.addresses[0]);
  };
  for (const void* part : reduced.parts) {
    add(part);
    ++made.parts;
  }
  add(reduced.to);
  made.bytes = reduced.bytes;
  made.share = static_cast<std::uint32_t>((block_slice(reduced.bytes, 0, blocks).end + 15) / 16);
  made.width = apart % 16 == 0 ? 16 : 1;
  made.divisor = reduced.reduction == Reduction::avg ? static_cast<int>(made.parts) : 1;
  return made;
}

}  // namespace duet::nccl_shim::cuda
