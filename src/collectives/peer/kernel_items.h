// A collective as items of peer kernels, or as the parts of a packet kernel.
#pragma once

#include <vector>

#include "collectives/collective.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/peer_channels.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// Rank `rank`'s items of each step; a step is one kernel, and every rank has as many steps. A
// collective that only moves pushes its parts. One that reduces reads the rank's part of the result
// from all ranks, and all_reduce pushes it to all. A large broadcast has two steps: the root sends
// a different part to each of the others, which pass theirs on among themselves, so that the root
// sends everything only once.
using Items = std::vector<KernelItem>;
std::vector<Items> kernel_steps(const Collective& collective, int rank, const PeerMemory& send,
                                const PeerMemory& recv);

// Bytes of the part that each rank has for each other rank, where all parts are of one size and
// small and aligned enough for packets; else 0. The same on every rank.
std::uint64_t packet_part(const Collective& collective, const PeerMemory& send,
                          const PeerMemory& recv);

// The kernel of rank `rank`, for a collective that has such parts.
PacketKernel packet_kernel(PeerKernel barrier, const Collective& collective, int rank,
                           const PeerMemory& send, const PeerMemory& recv,
                           const PacketBuffers& packet_buffers);

}  // namespace duet
