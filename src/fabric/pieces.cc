#include "fabric/pieces.h"

#include <algorithm>

namespace duet {
namespace {

// Ranges begin at multiples of a cache line.
constexpr std::uint64_t kGrain = 64;

struct RailRange {
  int rail = 0;
  std::uint64_t begin = 0, end = 0;
};

std::vector<RailRange> ranges_of(std::uint64_t bytes, std::uint64_t sequence, RailMode mode,
                                 const std::vector<int>& rails) {
  const std::uint64_t count = rails.size();
  if (mode == RailMode::single) return {{rails.front(), 0, bytes}};
  if (mode == RailMode::round_robin) return {{rails[sequence % count], 0, bytes}};
  const std::uint64_t share = bytes / count / kGrain * kGrain;
  if (share == 0) return {{rails.back(), 0, bytes}};
  std::vector<RailRange> ranges;
  for (std::uint64_t i = 0; i < count; ++i) {
    ranges.push_back({rails[i], i * share, i + 1 == count ? bytes : (i + 1) * share});
  }
  return ranges;
}

}  // namespace

std::vector<MessagePiece> cut_message(std::uint64_t bytes, std::uint64_t sequence, RailMode mode,
                                      const std::vector<int>& rails, std::uint64_t chunk) {
  std::vector<RailRange> ranges = ranges_of(bytes, sequence, mode, rails);
  std::vector<MessagePiece> pieces;
  for (bool more = true; more;) {
    more = false;
    for (RailRange& range : ranges) {
      if (range.begin == range.end) continue;
      const std::uint64_t left = range.end - range.begin;
      const std::uint64_t length = chunk == 0 ? left : std::min(chunk, left);
      pieces.push_back({range.rail, range.begin, length, length == left});
      range.begin += length;
      more = more || range.begin < range.end;
    }
  }
  return pieces;
}

MessagePieces::MessagePieces(const MessageShape& shape, const std::vector<int>& rails) {
  const std::size_t different = shape.mode == RailMode::round_robin ? rails.size() : 1;
  for (std::size_t sequence = 0; sequence < different; ++sequence) {
    cuts_.push_back(cut_message(shape.bytes, sequence, shape.mode, rails, shape.chunk));
  }
}

}  // namespace duet
