// A large broadcast by kernels behind a switch: pieces go from rank to rank, and each block of a
// kernel passes its slices on to the same block of the next rank's kernel.
#pragma once

#include <cstdint>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"

namespace duet {

struct RelayOptions {
  bool in_place = false;  // the root's buffers
  std::uint64_t piece_bytes = 1;
  int blocks = 1;  // of each kernel; all run at once
};

// Of at least 2 ranks.
RankSchedule relay(const Collective& collective, int rank, int ranks, const RelayOptions& options);

// 1 GiB on 4 x H200: 32 blocks 315 GB/s, 64 348, 128 357; 64 MiB: 269, 266, 264.
inline constexpr int kMostRelayBlocks = 128;

// The piece size with which a broadcast of `bytes` to `others` ranks takes the least time.
std::uint64_t best_relayed_piece(std::uint64_t bytes, int others);

}  // namespace duet
