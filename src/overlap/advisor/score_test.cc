#include "overlap/advisor/score.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "overlap/advisor/table_fixture.h"

namespace duet {
namespace {

OverlapRow row(const std::string& scenario, const std::string& policy, double seconds) {
  OverlapRow one;
  one.id = {"overlap",
            "round",
            "library",
            {{"scenario", scenario},
             {"origin", std::string("custom")},
             {"compute", std::string("10000x10000x5000 bf16 nn")},
             {"collective", std::string("all_gather")},
             {"bytes", std::int64_t{400000000}},
             {"pieces", std::int64_t{1}},
             {"policy", policy},
             {"ranks", std::int64_t{4}}}};
  one.seconds = seconds;
  return one;
}

TEST(Score, HoldsWhatIsAdvisedAgainstTheBestOfTheSweep) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::priority, "library", 0.3),
                   beside(OverlapPolicyKind::dma, "dma", 0.1)};
  const Score result =
      score(table, {},
            {row("a", "priority", 11e-3), row("a", "dma", 10e-3), row("b", "priority", 10e-3),
             row("b", "dma", 10.5e-3), row("c", "priority", 10e-3), row("c", "dma", 10.05e-3)});
  ASSERT_EQ(result.scenarios.size(), 3u);
  EXPECT_EQ(result.scenarios[1].advised, "dma");
  EXPECT_EQ(result.scenarios[1].best, "priority");
  EXPECT_NEAR(result.scenarios[1].loss(), 0.05, 1e-9);
  EXPECT_EQ(result.right(), 2);
  EXPECT_NEAR(result.worst_loss(), 0.05, 1e-9);
}

// Rows of scenarios with other works are parsed and ignored.
TEST(Score, IsOfGemmsBesideCollectives) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::priority, "library", 0.3),
                   beside(OverlapPolicyKind::dma, "dma", 0.1)};
  const auto other = [](const std::string& compute, const std::string& communicates) {
    OverlapRow one = row("other", "priority", 1e-3);
    one.id.axes.set("compute", compute);
    one.id.axes.set("collective", communicates);
    return one;
  };
  const auto copy =
      std::get<CopySide>(scenario_of(other("64x64x64 bf16 nn", "copy peer kernel")).communication);
  EXPECT_EQ(copy.kind, CopyKind::peer);
  EXPECT_EQ(copy.executor, Executor::kernel);
  EXPECT_EQ(copy.bytes, 400000000u);
  const std::vector<OverlapRow> rows{other("all_reduce 64 MiB", "all_gather"),
                                     other("64x64x64 bf16 nn", "copy host_to_device dma"),
                                     other("copy local kernel 1 GiB", "64x64x64 bf16 nn"),
                                     row("a", "dma", 10e-3)};
  EXPECT_EQ(score(table, {}, rows).scenarios.size(), 1u);
  DeviceTable fresh;
  add_rows(fresh, {rows.begin(), rows.end() - 1});
  EXPECT_TRUE(fresh.besides.empty());
}

TEST(Score, ChoosesOnlyWhatWasMeasured) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::priority, "library", 0.3),
                   beside(OverlapPolicyKind::dma, "dma", 0.1)};
  const auto advised = [&](const std::vector<OverlapRow>& sweep) {
    return score(table, {}, sweep).scenarios.at(0).advised;
  };
  EXPECT_EQ(advised({row("a", "serial", 14e-3), row("a", "priority", 11e-3)}), "priority");
  EXPECT_EQ(advised({row("a", "partition", 9e-3), row("a", "partition:8", 9e-3)}), "partition:8");
  EXPECT_EQ(advised({row("a", "dma", 0), row("a", "priority", 11e-3)}), "priority");  // skipped
  EXPECT_THROW(score(table, {}, {row("a", "partition", 9e-3)}), UsageError);
}

}  // namespace
}  // namespace duet
