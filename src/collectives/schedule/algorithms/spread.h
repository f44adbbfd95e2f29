// The second half of an all_reduce: copy engines push each rank's part of the result to all others.
#pragma once

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

struct SpreadOptions {
  CopyLanes copying;
  // The first half may end on one rank long before it does on another. Behind one link the ranks
  // then have a barrier, so that they do not push to one receiver at a time: 4 GiB on 4 x H200 take
  // 17.3 ms with it, 17.8 to 22 without.
  bool out_of_step = false;
};

// Comes behind a first half, which each rank has ended when its part is in its receive buffer; by
// then all ranks have come to the call, and nothing reads that part of any receive buffer.
RankSchedule spread(const Collective& collective, int rank, int ranks,
                    const SpreadOptions& options);

}  // namespace duet
