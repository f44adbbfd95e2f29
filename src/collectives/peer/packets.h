// Which collectives go by packets, and what each rank and peer has of them.
#pragma once

#include "collectives/collective.h"
#include "collectives/peer/packet_buffers.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// Bytes of the part that each rank has for each other rank, where all parts are of one size and
// small and aligned enough for packets; else 0. The same on every rank.
std::uint64_t packet_part(const Collective& collective, const PeerMemory& send,
                          const PeerMemory& recv);

// The kernel of rank `rank`, for a collective that has such parts.
PacketKernel packet_kernel(PeerKernel barrier, const Collective& collective, int rank,
                           const PeerMemory& send, const PeerMemory& recv,
                           const PacketBuffers& packet_buffers);

}  // namespace duet
