#include "collectives/partition.h"

#include <algorithm>

namespace duet {
namespace {

constexpr std::uint64_t kPieceGrain = 64 << 10;
// A smaller copy takes longer to start than to run.
constexpr std::uint64_t kSmallest = 1 << 20;
constexpr std::uint64_t kFewestPieces = 3;  // where they are large enough
constexpr std::uint64_t kTail = 4;  // the last quarter of the last piece is a piece by itself

}  // namespace

ElementRange part_of(std::uint64_t count, int part, int parts) {
  const auto n = static_cast<std::uint64_t>(parts), i = static_cast<std::uint64_t>(part);
  const std::uint64_t share = count / n, more = count % n;
  return {share * i + std::min(i, more), share + (i < more ? 1 : 0)};
}

ByteRange reduced_part(const Collective& c, int rank, int ranks) {
  const ElementRange own = c.kind == CollectiveKind::all_reduce
                               ? part_of(c.count, rank, ranks)
                               : ElementRange{c.count * static_cast<std::uint64_t>(rank), c.count};
  return {own.begin * size_of(c.dtype), own.count * size_of(c.dtype)};
}

std::uint64_t reduced_target(const Collective& c, int rank, int ranks) {
  return c.kind == CollectiveKind::all_reduce ? reduced_part(c, rank, ranks).begin : 0;
}

std::vector<Move> part_to_all(const Collective& c, int ranks) {
  std::vector<Move> moves;
  for (int from = 0; from < ranks; ++from) {
    const ByteRange part = reduced_part(c, from, ranks);
    for (int to = 0; to < ranks; ++to) {
      if (to != from && part.bytes > 0) {
        moves.push_back({from, to, part.begin, part.begin, part.bytes});
      }
    }
  }
  return moves;
}

std::vector<ByteRange> cut_into_pieces(std::uint64_t bytes, std::uint64_t largest) {
  if (bytes == 0) return {};
  const std::uint64_t count =
      std::max((bytes + largest - 1) / largest,
               std::min(kFewestPieces, bytes / std::min(kSmallest, largest)));
  const std::uint64_t each =
      count < 2 ? bytes : (bytes / count + kPieceGrain - 1) / kPieceGrain * kPieceGrain;
  std::vector<ByteRange> pieces;
  for (std::uint64_t begin = 0; begin < bytes; begin += each) {
    pieces.push_back({begin, std::min(each, bytes - begin)});
  }
  const std::uint64_t tail = pieces.back().bytes / kTail / kPieceGrain * kPieceGrain;
  if (count > 1 && tail >= kSmallest) {
    pieces.back().bytes -= tail;
    pieces.push_back({pieces.back().begin + pieces.back().bytes, tail});
  }
  return pieces;
}

}  // namespace duet
