#include "overlap/study.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/message_fixture.h"
#include "overlap/policy.h"
#include "overlap/scenario.h"

namespace duet {
namespace {

StudyOutcome outcome(const std::string& scenario, std::map<std::string, double> fraction) {
  StudyOutcome one;
  one.scenario = scenario;
  one.collective = scenario.substr(scenario.find(' ') + 1);
  one.fraction = std::move(fraction);
  return one;
}

const StudyRow* find(const std::vector<StudyRow>& rows, const std::string& name) {
  for (const StudyRow& row : rows) {
    if (row.reported.name == name) return &row;
  }
  return nullptr;
}

TEST(Study, BuiltInOnesNameScenariosAndPoliciesThatExist) {
  const Study& study = find_study("conccl");
  EXPECT_EQ(study.figures.size(), 6u);
  const auto scenarios = scenario_set(study.scenarios);
  EXPECT_EQ(scenarios.size(), 2 * study.classes.size());
  for (const OverlapScenario& each : scenarios) {
    EXPECT_EQ(study.classes.count(each.name.substr(0, each.name.find(' '))), 1u) << each.name;
  }
  for (const StudyFigure& figure : study.figures) {
    for (const std::string& policy : figure.policies) EXPECT_NO_THROW(parse_policies(policy));
  }
  EXPECT_THROW(find_study("concl"), UsageError);
}

TEST(Study, AFigureIsOfTheFastestOfItsPolicies) {
  const auto rows = beside_study(
      find_study("conccl"),
      {outcome(
          "cb4_1G all_gather",
          {{"base", 0.1}, {"priority", 0.3}, {"partition", 0.2}, {"priority+partition", 0.25}})});
  ASSERT_NE(find(rows, "c3_best"), nullptr);
  EXPECT_DOUBLE_EQ(find(rows, "c3_best")->mean, 0.3);
  EXPECT_DOUBLE_EQ(find(rows, "c3_rp")->mean, 0.2);
  EXPECT_EQ(find(rows, "ConCCL"), nullptr);  // dma was not measured
}

// The partition counts only where the GEMM is bound by memory, also where it is slower.
TEST(Study, DmaWithAPartitionIsOfGemmsBoundByMemory) {
  const auto rows = beside_study(
      find_study("conccl"), {outcome("mb1_4G all_gather", {{"dma", 0.5}, {"dma+partition", 0.4}}),
                             outcome("cb4_1G all_gather", {{"dma", 0.8}, {"dma+partition", 0.9}}),
                             outcome("other all_gather", {{"dma", 9}, {"dma+partition", 9}})});
  const StudyRow* row = find(rows, "ConCCL_rp");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->scenarios, 2);
  EXPECT_DOUBLE_EQ(row->mean, (0.4 + 0.8) / 2);
  EXPECT_TRUE(contains(row->policies, "bound by memory"));
}

TEST(Study, RangesAreOfTheClassesMeans) {
  const auto rows =
      beside_study(find_study("conccl"), {outcome("mb1_4G all_gather", {{"base", 0.1}}),
                                          outcome("cb4_1G all_gather", {{"base", 0.3}}),
                                          outcome("mb1_13G all_gather", {{"base", 0.6}})});
  const FractionRange range = find(rows, "c3_base")->ranges.at("all_gather");
  EXPECT_DOUBLE_EQ(range.low, 0.2);
  EXPECT_DOUBLE_EQ(range.high, 0.6);
}

TEST(Study, ErrorsNameFileAndKey) {
  const std::string text = message_of<UsageError>([&] { parse_study("mine", "name = \"x\"\n"); });
  EXPECT_TRUE(contains(text, "mine.toml"));
  EXPECT_TRUE(contains(text, "'scenarios' is missing"));
}

}  // namespace
}  // namespace duet
