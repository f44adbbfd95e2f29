// Chunks of a reduce_scatter, and of an all_reduce what divides it evenly.
#include "collectives/peer/parts.h"

#include <algorithm>

namespace duet {

Part part_of(std::uint64_t count, int part, int parts) {
  const auto n = static_cast<std::uint64_t>(parts), i = static_cast<std::uint64_t>(part);
  const std::uint64_t share = count / n, more = count % n;
  return {share * i + std::min(i, more), share + (i < more ? 1 : 0)};
}

PartBytes part_bytes(const Collective& c, int rank, int ranks) {
  const Part own = c.kind == CollectiveKind::all_reduce
                       ? part_of(c.count, rank, ranks)
                       : Part{c.count * static_cast<std::uint64_t>(rank), c.count};
  return {own.begin * size_of(c.dtype), own.count * size_of(c.dtype)};
}

std::vector<Move> spreading(const Collective& c, int ranks) {
  std::vector<Move> moves;
  for (int from = 0; from < ranks; ++from) {
    const PartBytes part = part_bytes(c, from, ranks);
    for (int to = 0; to < ranks; ++to) {
      if (to != from && part.bytes > 0) {
        moves.push_back({from, to, part.begin, part.begin, part.bytes});
      }
    }
  }
  return moves;
}

}  // namespace duet
