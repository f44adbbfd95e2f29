// A reduce_scatter, or the first half of an all_reduce, whose parts are added where they arrive:
// each rank's part of the result begins as a copy of its own elements, and the other ranks add
// theirs to it, one after the other. There are no staging slots, and nothing is read over a link.
#pragma once

#include <cstdint>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"

namespace duet {

// Of a kernel that adds, each of one warp. In a program of its own, two H200 added bf16 at 304 GB/s
// with 8 blocks, 312 with 16 and 328 with all of 132.
inline constexpr int kAddingBlocks = 16;

// Pieces of a part: adding begins when the first of the own elements have been copied.
inline constexpr std::uint64_t kAddedPiece = 32 << 20;

struct AdditionOptions {
  CopyLanes copying;
  bool in_place = false;      // this rank's buffers
  bool aligned_alike = true;  // the source and the target of this rank's own part, to 16 bytes
  std::uint64_t largest_piece = kAddedPiece;
};

// For at least 2 ranks. Lane 1 is the kernel's, lane 2 the own part's where it copies.
RankSchedule additions(const Collective& collective, int rank, int ranks,
                       const AdditionOptions& options);

}  // namespace duet
