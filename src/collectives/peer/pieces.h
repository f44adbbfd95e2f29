// How a part of a buffer is cut into pieces that follow each other through slots.
#pragma once

#include <cstdint>
#include <vector>

namespace duet {

struct PieceOf {
  std::uint64_t begin = 0;  // bytes
  std::uint64_t bytes = 0;
};

// Pieces of at most `largest` bytes, of one size and at least three of them where that leaves them
// worth a copy, so that the copying of one hides what is done with another; a small one at the end,
// since nothing hides what is done with the last. They begin at multiples of 64 KiB.
std::vector<PieceOf> pieces_of(std::uint64_t bytes, std::uint64_t largest);

}  // namespace duet
