// How rows are divided among groups; the cases of `duet gemm --grouped`, and their table.
#include "gemm/grouped_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/message_fixture.h"
#include "gemm/grouped_table.h"
#include "results/record.h"

namespace duet {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

TEST(Routing, ReadsItsOwnNames) {
  for (const char* text : {"equal", "uniform", "zipf:1.2", "zipf:0.5"}) {
    EXPECT_EQ(name(parse_routing(text)), text);
  }
  for (const char* text :
       {"", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:11", "zipf:1x", "fair"}) {
    EXPECT_TRUE(contains(message_of<UsageError>([&] { parse_routing(text); }), "zipf:1.2")) << text;
  }
}

TEST(Routing, DividesAllRows) {
  EXPECT_EQ(rows_of_groups({}, 3, 7), (std::vector<std::int64_t>{7, 7, 7}));
  for (const char* text : {"uniform", "zipf:1.5"}) {
    const std::vector<std::int64_t> rows = rows_of_groups(parse_routing(text), 16, 100);
    EXPECT_EQ(sum_of(rows), 1600);
    EXPECT_EQ(rows, rows_of_groups(parse_routing(text), 16, 100)) << "the same at each call";
  }
}

// 5 standard deviations of a group's rows, sqrt(1000), around what the law says.
TEST(Routing, FollowsItsLaw) {
  for (const std::int64_t rows : rows_of_groups(parse_routing("uniform"), 8, 1000)) {
    EXPECT_NEAR(static_cast<double>(rows), 1000, 158);
  }
  const std::vector<std::int64_t> skewed = rows_of_groups(parse_routing("zipf:1"), 4, 1000);
  const double all = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  for (std::size_t group = 0; group < 4; ++group) {
    EXPECT_NEAR(static_cast<double>(skewed[group]), 4000 / all / static_cast<double>(group + 1),
                158);
  }
}

TEST(ExpertModels, HaveBothProducts) {
  const auto shapes = shapes_of_experts(expert_model("deepseek-v3"), 32, 64);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].groups, 32);
  EXPECT_EQ(shapes[0].n, 4096);
  EXPECT_EQ(shapes[0].k, 7168);
  EXPECT_EQ(shapes[1].n, 7168);
  EXPECT_EQ(shapes[1].k, 2048);
  const std::string message = message_of<UsageError>([] { expert_model("mixtrall"); });
  EXPECT_TRUE(contains(message, "did you mean 'mixtral'")) << message;
}

GroupedGemmOptions grouped_options() {
  GroupedGemmOptions options;
  options.device_name = "sim:h200-4";
  options.shapes = {{"", "", 6, 20, 64, 48}};
  options.routings = {parse_routing("zipf:1.2")};
  options.mode.min_iterations = options.mode.max_iterations = 2;
  options.mode.warm_up_seconds = 0;
  return options;
}

std::vector<Record> records_of(const GroupedGemmOptions& options) {
  const auto machine = open_machine("sim:h200-4");
  std::vector<Record> records;
  for (const Case& one : grouped_gemm_benchmark(*machine, options, {}).cases) {
    records.push_back(make_record(one.run()));
  }
  return records;
}

TEST(GroupedCases, MeasureEachEngineAndTheDenseProduct) {
  const std::vector<Record> records = records_of(grouped_options());
  std::vector<std::string> engines;
  for (const Record& record : records) {
    engines.push_back(record.id.engine);
    EXPECT_EQ(record.outcome, Outcome::measured);
    EXPECT_TRUE(record.verified) << record.id.engine;
    EXPECT_DOUBLE_EQ(record.cost.flop, 2.0 * 120 * 64 * 48);
    const std::vector<double> rows = record.curves.value("rows_of_groups");
    EXPECT_DOUBLE_EQ(std::accumulate(rows.begin(), rows.end(), 0.0), 120);
    const double largest = *std::max_element(rows.begin(), rows.end());
    EXPECT_DOUBLE_EQ(record.metrics.value("rows_of_largest"), largest);
    EXPECT_NEAR(record.metrics.value("rows_max_over_mean"), largest / 20, 1e-9);
  }
  EXPECT_EQ(engines,
            (std::vector<std::string>{"dense", "loop-model", "streams-model", "model-grouped"}));
}

TEST(GroupedCases, TheTableHasTheShareOfTheDenseRate) {
  std::vector<Record> records = records_of(grouped_options());
  ASSERT_EQ(records.size(), 4u);
  records[0].seconds.median = 1e-3;
  records[1].seconds.median = 4e-3;
  records[2].seconds.median = records[3].seconds.median = 2e-3;
  const std::string text = grouped_table(records);
  EXPECT_TRUE(contains(text, "4.000 ms  25%")) << text;
  EXPECT_TRUE(contains(text, "2.000 ms  50%")) << text;
  EXPECT_TRUE(contains(text, "max/mean")) << text;
  records[0].outcome = Outcome::skipped;
  EXPECT_FALSE(contains(grouped_table(records), "%"));
  EXPECT_EQ(grouped_table({}), "");
}

TEST(GroupedCases, TakeTheEnginesThatAreNamed) {
  GroupedGemmOptions options = grouped_options();
  options.engines = {"model-grouped"};
  EXPECT_EQ(records_of(options).size(), 1u);
  options.engines = {"model"};
  EXPECT_TRUE(contains(message_of<UsageError>([&] { records_of(options); }), "loop-model"));
}

TEST(GroupedCases, WhatCannotRunIsSkippedWithAReason) {
  GroupedGemmOptions options = grouped_options();
  options.dtypes = {DType::int32};
  for (const Record& record : records_of(options)) {
    EXPECT_EQ(record.outcome, Outcome::skipped);
    EXPECT_FALSE(record.reason.empty());
  }
}

}  // namespace
}  // namespace duet
