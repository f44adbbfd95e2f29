// A collective as items of kernels.
#pragma once

#include <vector>

#include "collectives/collective.h"
#include "collectives/peer/parts.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// Rank `rank`'s items of each step, one kernel with all others; every rank has as many steps.
// Where it moves, it pushes its parts; where it reduces, it reads its own part of the result from
// all, and all_reduce pushes that to all. A large broadcast has two steps: the root deals out a
// part to each of the others, who pass theirs on among themselves, so that the root sends
// everything once only.
using Items = std::vector<KernelItem>;
std::vector<Items> kernel_steps(const Collective& collective, int rank, const PeerMemory& send,
                                const PeerMemory& recv);

}  // namespace duet
