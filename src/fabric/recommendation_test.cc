#include <gtest/gtest.h>

#include "fabric/cases.h"

namespace duet {
namespace {

Finished timed(const std::string& mode, std::int64_t window, double seconds) {
  Finished finished;
  finished.id = {"fabric",
                 "host",
                 "libfabric",
                 {{"operation", std::string("write")}, {"mode", mode}, {"window", window}}};
  finished.median_seconds = seconds;
  return finished;
}

std::string mode_of(const Measurement& measurement) {
  return measurement.id.axes.text("mode").value();
}

TEST(Recommendation, SplitForOneBufferAndRoundRobinForMany) {
  const auto results = recommend_rails({timed("single", 1, 4.0), timed("split", 1, 1.0),
                                        timed("round_robin", 1, 4.0), timed("single", 8, 4.0),
                                        timed("split", 8, 1.0), timed("round_robin", 8, 1.01)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(mode_of(results[0]), "split");
  EXPECT_EQ(mode_of(results[1]), "round_robin");
  EXPECT_NEAR(results[0].rates.front().second, 4.0, 1e-9);
}

TEST(Recommendation, OneRailWhereOthersGainNothing) {
  const auto results = recommend_rails({timed("single", 1, 1.0), timed("split", 1, 0.99)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(mode_of(results[0]), "single");
}

TEST(Recommendation, NothingIsRecommendedOfOneModeOrOfSkippedCases) {
  EXPECT_TRUE(recommend_rails({timed("split", 1, 1.0), timed("single", 8, 1.0)}).empty());
  EXPECT_TRUE(recommend_rails({timed("split", 1, 1.0), timed("single", 1, 0)}).empty());
}

}  // namespace
}  // namespace duet
