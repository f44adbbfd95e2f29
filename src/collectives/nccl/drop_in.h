// What Duet's drop-in for NCCL (src/nccl_shim) and those who measure or set it have in common.
#pragma once

#include <cstdint>

namespace duet::nccl {

// DUET_NCCL_PACKETS, the largest size of calls that are made as packets: at most this, since a rank
// has packet buffers of five times as much for each other rank, and a multiple of the unit.
constexpr std::uint64_t kMostDropInPackets = 1 << 20, kDropInPacketUnit = 128;

}  // namespace duet::nccl
