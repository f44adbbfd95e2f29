#include "collectives/nodes/piece_cut.h"

#include <algorithm>
#include <numeric>

namespace duet {
namespace {

// Of pieces on a rail: large enough that posting costs little; larger ones where each rail has
// many. Shares of what four emulated rails of 500 Mbit/s carry in an all_gather and an all_to_all
// of 64 MiB, one rank a node (tests/fabric/nodes_share.sh with other values here), by the KiB of a
// usual and of a small piece:
//
//   256, none small    256, 64      128, 64      64, none small
//   0.93 0.93          0.96 0.96    0.97 0.97    0.97 0.96
//
// A piece that a copy engine copies between GPUs costs some 6 us besides its bytes, and no rail is
// slow: two H200 as two nodes make an all_gather of 1 GiB in 1,588 us with pieces (and messages) of
// 16 MiB, 1,453 us with 64 MiB; one node 1,404 and 1,413 us in the same visits.
constexpr std::uint64_t kLargestRailPiece = 512 << 10, kUsualRailPiece = 128 << 10,
                        kSmallestRailPiece = 64 << 10;
constexpr std::uint64_t kPiecesOfRail = 128;
constexpr std::uint64_t kLargestCopiedPiece = 64 << 20;
constexpr std::uint64_t kRailGrain = 4 << 10;

std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + kRailGrain - 1) / kRailGrain * kRailGrain;
}

}  // namespace

// Small messages are spread over all rails as well.
PieceCut::PieceCut(const MessageSize& largest, int rails, MemoryPath path) {
  const auto count = static_cast<std::uint64_t>(rails);
  const bool copied = path == MemoryPath::ipc;
  std::uint64_t share = largest.bytes / count;
  if (!copied) {
    share = std::min(share, std::max(largest.all / (count * kPiecesOfRail), kUsualRailPiece));
  }
  usual_ = std::clamp(rounded_up(share), kSmallestRailPiece,
                      copied ? kLargestCopiedPiece : kLargestRailPiece);
  most_ = largest.bytes / usual_ + largest.parts;
  if (copied || rails == 1) return;
  end_ = std::min(count * RailDealer::kFewestPieces * usual_, largest.bytes);
  more_of_last_ = end_ / kSmallestRailPiece + 1;
}

std::vector<PieceCut::Piece> PieceCut::pieces(const std::vector<std::uint64_t>& parts,
                                              bool last) const {
  std::vector<Piece> pieces;
  std::uint64_t left = std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::uint64_t done = 0; done < parts[part];) {
      const std::uint64_t size = last && left <= end_ ? kSmallestRailPiece : usual_;
      const std::uint64_t bytes = std::min(size, parts[part] - done);
      pieces.push_back({part, done, bytes});
      done += bytes;
      left -= bytes;
    }
  }
  return pieces;
}

bool RailDealer::takes(std::size_t rail, std::size_t rails, std::uint64_t bytes) const {
  if (posted_[rail] < kFewestPieces) return true;
  return posted_[rail] < kMostPieces && 2 * rails * (in_flight_[rail] + bytes) <= left_;
}

int RailDealer::choose(const std::vector<int>& rails, std::uint64_t bytes) const {
  int best = -1;
  for (const int rail : rails) {
    const auto at = static_cast<std::size_t>(rail);
    if (!takes(at, rails.size(), bytes)) continue;
    if (best < 0 || in_flight_[at] < in_flight_[static_cast<std::size_t>(best)]) best = rail;
  }
  return best;
}

void RailDealer::post(int rail, std::uint64_t bytes) {
  left_ -= bytes;
  in_flight_[static_cast<std::size_t>(rail)] += bytes;
  ++posted_[static_cast<std::size_t>(rail)];
}

void RailDealer::ended(int rail, std::uint64_t bytes) {
  in_flight_[static_cast<std::size_t>(rail)] -= bytes;
  --posted_[static_cast<std::size_t>(rail)];
}

void RailDealer::lost(int rail, std::uint64_t bytes) {
  ended(rail, bytes);
  left_ += bytes;
}

}  // namespace duet
