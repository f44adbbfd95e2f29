#include "collectives/nodes/rail_dealer.h"

namespace duet {

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
