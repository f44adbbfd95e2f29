// Which part of a reduction is whose, and how many blocks reduce it.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"

namespace duet {

// The part of `count` elements that is part `part` of `parts`: equal but for the first ones, which
// have one element more where it does not divide.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};
Part part_of(std::uint64_t count, int part, int parts);

// What a rank reduces of the send buffers, in bytes.
struct PartBytes {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};
PartBytes part_bytes(const Collective& collective, int rank, int ranks);

// Of one kernel. On 4 x H200 8 blocks reduce 256 MiB at 224 GB/s, 16 at 288.
inline constexpr int kReducingBlocks = 16;

// Of an all_reduce: each rank's part, from its receive buffer to all others'.
std::vector<Move> spreading(const Collective& collective, int ranks);

}  // namespace duet
