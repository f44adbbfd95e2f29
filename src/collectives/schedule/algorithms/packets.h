// Collectives whose parts a kernel can send as packets.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"

namespace duet {

// Bytes of the part that each rank has for each rank, where all parts are of one size and small
// enough for packets; else 0. The same on every rank.
std::uint64_t packet_bytes(const Collective& collective, int ranks);

// The rank's parts, of a collective that has such: StepKernel::packets.
std::vector<PacketPart> packet_parts(const Collective& collective, int rank, int ranks,
                                     bool in_place);

}  // namespace duet
