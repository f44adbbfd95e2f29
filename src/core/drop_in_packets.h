// What Duet's drop-in for NCCL (src/nccl_shim), which links nothing of libduet, has in common with
// those who measure it or set its variables.
#pragma once

#include <cstdint>

namespace duet {

// DUET_NCCL_PACKETS, the largest size of calls that are made as packets: at most this, since a rank
// has packet buffers of five times as much for each other rank, and a multiple of the unit.
constexpr std::uint64_t kMostDropInPackets = 1 << 20, kDropInPacketUnit = 128;

}  // namespace duet
