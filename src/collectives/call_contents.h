// What buffers of a call hold whose result is checked to the bit: collectives without reduction
// move random bytes, from a different seed on every rank. Reductions get small whole numbers, so
// that the result is exact in any order of addition.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/collective.h"
#include "device/stream.h"

namespace duet {

// A rank's input. `seed` is rank 0's; those of the others follow it, as FillKind::digits_reduced
// expects.
Fill call_input(const Collective& collective, int ranks, int rank, std::uint64_t seed);

// A part of what a rank receives, in its receive buffer.
struct ReceivedPart {
  int from = 0;  // rank; -1: all of them
  std::uint64_t offset = 0, bytes = 0;
  Fill fill;
};

// `received`: the bytes that the rank receives.
std::vector<ReceivedPart> call_result(const Collective& collective, int ranks, int rank,
                                      std::uint64_t seed, std::uint64_t received);

}  // namespace duet
