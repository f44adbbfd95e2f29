#include "fleet/rounds.h"

#include <gtest/gtest.h>

#include <set>

namespace duet {
namespace {

TEST(FleetRounds, EveryNodeMeetsEveryOtherOnce) {
  for (int nodes = 2; nodes <= 11; ++nodes) {
    const auto rounds = tournament(nodes);
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(nodes - (nodes % 2 == 0 ? 1 : 0)));
    std::set<std::pair<int, int>> met;
    for (const FleetRound& round : rounds) {
      std::set<int> busy;
      for (const auto& [one, other] : round) {
        EXPECT_TRUE(0 <= one && one < other && other < nodes);
        EXPECT_TRUE(busy.insert(one).second && busy.insert(other).second) << nodes;
        EXPECT_TRUE(met.insert({one, other}).second) << nodes;
      }
      EXPECT_EQ(round.size(), static_cast<std::size_t>(nodes / 2));
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2));
  }
}

TEST(FleetRounds, SomeRoundsAreOfDifferentPairs) {
  const auto rounds = tournament(1000, 6);
  ASSERT_EQ(rounds.size(), 6u);
  std::set<std::pair<int, int>> met;
  for (const FleetRound& round : rounds) met.insert(round.begin(), round.end());
  EXPECT_EQ(met.size(), 6u * 500u);
  EXPECT_EQ(tournament(4, 9).size(), 3u);
}

}  // namespace
}  // namespace duet
