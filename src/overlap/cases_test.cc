#include "overlap/cases.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

Finished finished(const std::string& scenario, const std::string& policy, double seconds) {
  return {{"overlap",
           "sim",
           "by " + policy,
           {{"scenario", scenario}, {"policy", policy}, {"ranks", std::int64_t{4}}}},
          seconds,
          {}};
}

TEST(OverlapBest, IsTheFastestOfEachScenario) {
  const auto best =
      fastest_policies({finished("one", "base", 3), finished("one", "dma", 2),
                        finished("other", "base", 1), finished("other", "dma", 0),
                        finished("one", "dma+partition:8", 2.5), finished("other", "priority", 4)});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].id.benchmark, "overlap_best");
  EXPECT_EQ(best[0].id.engine, "by dma");
  EXPECT_EQ(best[0].id.axes.text("policy"), "dma");
  EXPECT_EQ(best[0].rates[0].second, 2);
  EXPECT_EQ(best[0].rates[1].second, 2.5 / 2);
  EXPECT_EQ(best[1].id.axes.text("policy"), "base");
  EXPECT_EQ(best[1].rates[1].second, 4);
}

TEST(OverlapBest, InPlaceIsAScenarioOfItsOwn) {
  Finished base = finished("one", "base", 3), dma = finished("one", "dma", 2);
  for (Finished* each : {&base, &dma}) each->id.axes.set("in_place", true);
  const auto best =
      fastest_policies({base, finished("one", "base", 1), dma, finished("one", "dma", 4)});
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].id.axes.flag("in_place"), true);
  EXPECT_EQ(best[0].id.axes.text("policy"), "dma");
  EXPECT_EQ(best[1].id.axes.text("policy"), "base");
}

// The points of a sweep and its best are of one kind. A scenario with one case has no best.
TEST(OverlapBest, IsNotAheadOfItsOwnSweep) {
  const auto best =
      fastest_policies({finished("one", "partition:8", 2), finished("one", "partition", 2),
                        finished("other", "dma", 1)});
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].rates.size(), 1u);
}

}  // namespace
}  // namespace duet
