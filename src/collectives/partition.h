// How a collective's bytes are divided: a part for each rank, and pieces of a part that follow each
// other through staging slots.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/call_rows.h"
#include "collectives/collective.h"

namespace duet {

struct ElementRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// Part `part` of `parts` of `count` elements. Where the count does not divide, the first parts have
// one element more.
ElementRange part_of(std::uint64_t count, int part, int parts);

// What a rank reduces of the send buffers.
ByteRange reduced_part(const Collective& collective, int rank, int ranks);

// Where that goes in the rank's receive buffer, in bytes.
std::uint64_t reduced_target(const Collective& collective, int rank, int ranks);

// Of a collective with MatrixRows: the rows that a rank sends to all, or keeps; and these in as
// many ranges as the collective says (one for 0), each but the last one of whole tiles of 128 rows
// where there are so many. Ranges of no rows are left out.
RowBlock rows_of(const Collective& collective, int rank, int ranks);
std::vector<RowBlock> ranges_of(const Collective& collective, int rank, int ranks);
std::uint64_t row_bytes(const Collective& collective);
// Whether ranges of rows are multiplied between the steps of the collective.
inline bool in_ranges(const Collective& collective) {
  return collective.rows.columns > 0 && collective.rows.ranges > 0;
}

// The second half of an all_reduce: each rank's part, from its receive buffer to all others'.
std::vector<Move> part_to_all(const Collective& collective, int ranks);

// Of a kernel that reduces. On 4 x H200 8 blocks reduce 256 MiB at 224 GB/s, 16 at 288.
inline constexpr int kReducingBlocks = 16;

inline constexpr int kVectorBytes = 16;  // that a thread of a kernel reads or adds at once

// Pieces of at most `largest` bytes; all but the last two are of one size. There are at least three
// where each is still worth a copy, so that copying one hides what is done with another. The last
// piece is small, since nothing hides what is done with it. Pieces begin at multiples of 64 KiB.
std::vector<ByteRange> cut_into_pieces(std::uint64_t bytes, std::uint64_t largest);

}  // namespace duet
