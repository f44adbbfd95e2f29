// What Duet's drop-in for NCCL (src/nccl_shim) and who measures it have in common.
#pragma once

#include <cstdint>

namespace duet::nccl {

// The largest size of a call that the drop-in makes as packets, whatever DUET_NCCL_PACKETS says: a
// rank has packet buffers of five times as much for each other rank.
constexpr std::uint64_t kMostDropInPackets = 1 << 20;

}  // namespace duet::nccl
