// Cutting.
#include "collectives/peer/pieces.h"

#include <algorithm>

namespace duet {
namespace {

constexpr std::uint64_t kPieceGrain = 64 << 10;
// A copy of less costs more by its start than by its bytes.
constexpr std::uint64_t kSmallest = 1 << 20;
constexpr std::uint64_t kFewest = 3;  // where they are large enough
constexpr std::uint64_t kTail = 4;    // the last piece's last part by itself

}  // namespace

std::vector<PieceOf> pieces_of(std::uint64_t bytes, std::uint64_t largest) {
  if (bytes == 0) return {};
  const std::uint64_t count = std::max((bytes + largest - 1) / largest,
                                       std::min(kFewest, bytes / std::min(kSmallest, largest)));
  const std::uint64_t each =
      count < 2 ? bytes : (bytes / count + kPieceGrain - 1) / kPieceGrain * kPieceGrain;
  std::vector<PieceOf> pieces;
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
