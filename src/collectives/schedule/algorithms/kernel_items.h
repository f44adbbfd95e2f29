// A collective as items of the kernels that access peers.
#pragma once

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

}  // namespace duet
