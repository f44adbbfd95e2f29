// A broadcast by copy engines, as a pipeline: a rank that has received a piece passes it on while
// it receives the next one.
#pragma once

#include <vector>

#include "collectives/partition.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

struct BroadcastOptions {
  int root = 0;
  CopyLanes copying;
  std::vector<ByteRange> pieces;  // cover the buffer in order; the same on all ranks
  bool in_place = false;          // this rank's buffers
};

// For at least 3 ranks. Lane copying.count is the root's local copy's.
RankSchedule broadcast_pipeline(int rank, int ranks, const BroadcastOptions& options);

}  // namespace duet
