#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace duet {

// The number in the packets of the call behind call `last`: of the first it is 1, and 0 is no
// call's. Neighbours are odd and even.
DUET_HOST_DEVICE inline std::uint32_t next_packet_number(std::uint32_t last) {
  return last + 1 == 0 ? 2 : last + 1;
}

// What Duet's drop-in for NCCL (src/nccl_shim), which links nothing of libduet, has in common with
// those who measure it or set its variables.

// DUET_NCCL_PACKETS, the largest size of calls that are made as packets: at most this, since a rank
// has packet buffers of five times as much for each other rank, and a multiple of the unit.
constexpr std::uint64_t kMostDropInPackets = 1 << 20, kDropInPacketUnit = 128;

}  // namespace duet
