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

// `words`: the address of the exchange's for the device. They have a word for each rank that may
// have to be waited for long: kMostRanks. Throws BadArgument for more than kMostPacketPeers peers.
PacketArguments packet_arguments(const PacketExchange& exchanged, std::uintptr_t words);

}  // namespace duet::nccl_shim::cuda
