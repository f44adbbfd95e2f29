#include "fleet/rounds.h"

#include <algorithm>

namespace duet {

// The circle method: one place is fixed, the others turn by one place in each round, and places
// that lie opposite each other meet. Where the number is odd, the node opposite the fixed place
// pauses.
std::vector<FleetRound> tournament(int nodes, int rounds) {
  const int turning = nodes % 2 == 0 ? nodes - 1 : nodes;
  const int count = rounds > 0 ? std::min(rounds, turning) : turning;
  std::vector<FleetRound> all;
  for (int round = 0; round < count; ++round) {
    const int turn = static_cast<int>(static_cast<long>(round) * turning / count);
    FleetRound& pairs = all.emplace_back();
    if (nodes % 2 == 0) pairs.emplace_back(turn, nodes - 1);
    for (int i = 1; i <= (turning - 1) / 2; ++i) {
      const int one = (turn + i) % turning, other = (turn - i + turning) % turning;
      pairs.emplace_back(std::min(one, other), std::max(one, other));
    }
    std::sort(pairs.begin(), pairs.end());
  }
  return all;
}

}  // namespace duet
