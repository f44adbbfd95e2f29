// Small collectives by way of staging memory.
#pragma once

#include "collectives/collective.h"
#include "collectives/peer/packet_buffers.h"
#include "device/exchange.h"
#include "team/peer_memory.h"

namespace duet {

// Bytes of the part that each rank has for each other, where all have one of the same size and it
// may go by way of boxes; 0 otherwise. The same on every rank.
std::uint64_t staged_part(const Collective& collective, const PeerMemory& send,
                          const PeerMemory& recv);

// Rank `rank`'s side of it, for a collective that has such parts.
Staged staged_way(const Collective& collective, int rank, const PeerMemory& send,
                  const PeerMemory& recv, const PacketBuffers& boxes);

}  // namespace duet
