// A collective as items or packets of the kernels that access peers.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"

namespace duet {

// Rank `rank`'s items of each step of peer_kernels(). Every rank has as many steps.
std::vector<std::vector<StepItem>> kernel_items(const Collective& collective, int rank, int ranks,
                                                bool in_place);

// The rank's part of a reduction, from all send buffers to its own receive buffer or, of an
// all_reduce, to all; none where it has no part.
std::vector<StepItem> reduced_items(const Collective& collective, int rank, int ranks, bool to_all);

// Bytes of the part that each rank has for each rank, where all parts are of one size and small
// enough for packets; else 0. The same on every rank.
std::uint64_t packet_bytes(const Collective& collective, int ranks);

// The rank's parts, of a collective that has such: StepKernel::packets.
std::vector<PacketPart> packet_parts(const Collective& collective, int rank, int ranks,
                                     bool in_place);

}  // namespace duet
