// Collectives that only move data: every rank pushes its parts into the others' receive buffers.
#pragma once

#include <cstdint>

#include "collectives/collective.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

struct MoveOptions {
  CopyLanes copying;
  bool in_place = false;      // this rank's buffers
  bool aligned_alike = true;  // the source and the target of this rank's own part, to 16 bytes
  std::uint64_t defer_bytes = kDeferLocalCopyBytes;  // choose_local_copy()
};

RankSchedule direct_moves(const Collective& collective, int rank, int ranks,
                          const MoveOptions& options);

}  // namespace duet
