// What the kernels of packets are launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

#include "device/gpu/packet_table.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// The kernel is duet_exchange, or duet_exchange_TYPE_OPERATION where parts are reduced, of
// gpu::packet_blocks(bytes, kPacketBlocks) blocks.
struct PacketArguments {
  gpu::PacketTable exchange;
  const std::uint32_t* ended;  // as PacketWords
  std::uint32_t* awaited;
};

// `words`: where the device finds exchanged.words. Throws BadArgument for more than
// kMostPacketPeers peers; with more than kMostRanks ranks, packets must not be late, as
// PacketWords::awaited has no word for them.
PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words);

}  // namespace duet::nccl_shim::cuda
