// Collectives that only move data, through staging slots: for receive buffers that the other ranks
// cannot map, and for all_to_all in place.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"
#include "collectives/session/staging.h"

namespace duet {

struct StagedMoveOptions {
  CopyLanes copying;
  bool in_place = false;  // this rank's own part stays where it is
  // The rank receives from each peer where it sends to that peer from: all_to_all in place.
  bool swaps = false;
  std::uint64_t largest_piece = kLargestPiece;
};

// Lanes 1 to `beside` push, and make the local copy; the `copying_out` ones behind them copy out of
// slots.
struct StagedMoveLanes {
  explicit StagedMoveLanes(CopyLanes copying)
      : beside(copying.count), copying_out(copying.in_order ? 1 : copying.count) {}
  int beside;
  int copying_out;
};

// The same moves at every rank, at most one from any rank to any other.
RankSchedule staged_moves(const std::vector<Move>& moves, int rank, int ranks,
                          const StagedMoveOptions& options);

}  // namespace duet
