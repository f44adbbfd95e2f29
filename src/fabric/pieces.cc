// Cutting messages; see pieces.h.
#include "fabric/pieces.h"

#include <algorithm>

namespace duet {
namespace {

// Parts begin where a cache line does.
constexpr std::uint64_t kGrain = 64;

struct Part {
  int rail = 0;
  std::uint64_t begin = 0, end = 0;
};

std::vector<Part> parts_of(std::uint64_t bytes, std::uint64_t turn, RailMode mode,
                           const std::vector<int>& rails) {
  const std::uint64_t count = rails.size();
  if (mode == RailMode::single) return {{rails.front(), 0, bytes}};
  if (mode == RailMode::round_robin) return {{rails[turn % count], 0, bytes}};
  const std::uint64_t share = bytes / count / kGrain * kGrain;
  if (share == 0) return {{rails.back(), 0, bytes}};
  std::vector<Part> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    parts.push_back({rails[i], i * share, i + 1 == count ? bytes : (i + 1) * share});
  }
  return parts;
}

}  // namespace

std::vector<MessagePiece> cut_message(std::uint64_t bytes, std::uint64_t turn, RailMode mode,
                                      const std::vector<int>& rails, std::uint64_t chunk) {
  std::vector<Part> parts = parts_of(bytes, turn, mode, rails);
  std::vector<MessagePiece> pieces;
  for (bool more = true; more;) {
    more = false;
    for (Part& part : parts) {
      if (part.begin == part.end) continue;
      const std::uint64_t left = part.end - part.begin;
      const std::uint64_t length = chunk == 0 ? left : std::min(chunk, left);
      pieces.push_back({part.rail, part.begin, length, length == left});
      part.begin += length;
      more = more || part.begin < part.end;
    }
  }
  return pieces;
}

MessageCuts::MessageCuts(const MessageShape& shape, const std::vector<int>& rails) {
  const std::size_t different = shape.mode == RailMode::round_robin ? rails.size() : 1;
  for (std::size_t turn = 0; turn < different; ++turn) {
    cuts_.push_back(cut_message(shape.bytes, turn, shape.mode, rails, shape.chunk));
  }
}

}  // namespace duet
