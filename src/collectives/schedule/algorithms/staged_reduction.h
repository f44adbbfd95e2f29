// A reduce_scatter, or the first half of an all_reduce, whose bytes move by copy engines. Pieces
// are pushed into staging slots of the rank that reduces them, and a kernel of few blocks reduces
// each piece when all ranks' copies of it have arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"
#include "collectives/session/staging.h"

namespace duet {

struct StagedReductionOptions {
  CopyLanes copying;
  // By rank: how its own part of its send buffer is aligned, in bytes past 16, as what it adds from
  // slots then is. Empty: all are aligned.
  std::vector<int> shifts;
  std::uint64_t largest_piece = kLargestPiece;
};

// Lane `copying.count` at most is the kernel's.
RankSchedule staged_reduction(const Collective& collective, int rank, int ranks,
                              const StagedReductionOptions& options);

}  // namespace duet
