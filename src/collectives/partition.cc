#include "collectives/partition.h"

#include <algorithm>

namespace duet {
namespace {

constexpr std::uint64_t kPieceGrain = 64 << 10;
// A smaller copy takes longer to start than to run.
constexpr std::uint64_t kSmallest = 1 << 20;
constexpr std::uint64_t kFewestPieces = 3;  // where they are large enough
constexpr std::uint64_t kTileRows = 128;    // of a GEMM
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

std::uint64_t row_bytes(const Collective& c) { return c.rows.columns * size_of(c.dtype); }

RowBlock rows_of(const Collective& c, int rank, int ranks) {
  const std::uint64_t rows = c.count / c.rows.columns;
  if (c.kind != CollectiveKind::all_reduce) return {rows * static_cast<std::uint64_t>(rank), rows};
  const ElementRange own = part_of(rows, rank, ranks);
  return {own.begin, own.count};
}

std::vector<RowBlock> ranges_of(const Collective& c, int rank, int ranks) {
  const RowBlock all = rows_of(c, rank, ranks);
  const int count = std::max(1, c.rows.ranges);
  const std::uint64_t tiles = all.count / kTileRows;
  const bool in_tiles = tiles >= static_cast<std::uint64_t>(count);
  const std::uint64_t unit = in_tiles ? kTileRows : 1;
  std::vector<RowBlock> ranges;
  for (int i = 0; i < count; ++i) {
    const ElementRange part = part_of(in_tiles ? tiles : all.count, i, count);
    RowBlock range{all.first + part.begin * unit, part.count * unit};
    if (i + 1 == count) range.count = all.first + all.count - range.first;
    if (range.count > 0) ranges.push_back(range);
  }
  return ranges;
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
