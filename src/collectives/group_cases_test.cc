// Collectives of groups: who calls whom, what is measured, and what is refused.
#include "collectives/group_cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/cases.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

CollectiveOptions by_groups(const char* division, const char* device) {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_reduce};
  options.engines = {"dma"};
  options.sizes = {64 << 10};
  options.in_place = {false};
  options.device_name = device;
  GroupOptions groups;
  groups.groups = parse_division(division, "--groups");
  groups.mode.warm_ups = 1;
  groups.mode.warm_up_seconds = groups.mode.seconds = 0;
  groups.mode.iterations = 2;
  options.groups = groups;
  return options;
}

void set_beside(CollectiveOptions& options, std::uint64_t bytes, const char* division = nullptr) {
  options.groups->beside = BesideCollective{CollectiveKind::all_gather, bytes, {}};
  if (division != nullptr) options.groups->beside->groups = parse_division(division, "");
}

Measurement measured(const char* device, const CollectiveOptions& options) {
  const auto machine = open_machine(device);
  const Benchmark benchmark = collective_benchmark(*machine, options, {});
  EXPECT_EQ(benchmark.cases.size(), 1u);
  Measurement result = benchmark.cases.front().run();
  benchmark.conclude({});
  return result;
}

std::vector<double> curve(const Measurement& of, const std::string& name) {
  for (const auto& [each, values] : of.curves) {
    if (each == name) return values;
  }
  return {};
}

std::string note(const Measurement& of, const std::string& name) {
  for (const auto& [each, text] : of.notes) {
    if (each == name) return text;
  }
  return "";
}

TEST(GroupDivision, HasAName) {
  for (const char* text : {"4x2", "2x4:strided", "1x8"}) {
    EXPECT_EQ(name(parse_division(text, "")), text);
  }
  EXPECT_EQ(groups_of(parse_division("2x3", ""), 6), (TeamGroups{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(groups_of(parse_division("2x3:strided", ""), 6), (TeamGroups{{0, 2, 4}, {1, 3, 5}}));
}

TEST(GroupDivision, RefusesOtherTexts) {
  for (const char* text : {"", "4", "4x", "x2", "0x2", "4x0", "4x-2", "4x2:", "4x2:odd", "4x2x1"}) {
    EXPECT_TRUE(contains(message_of<UsageError>([&] { parse_division(text, "--groups"); }),
                         "expected GROUPSxRANKS"))
        << text;
  }
  EXPECT_TRUE(contains(message_of<UsageError>([] {
                         groups_of({4, 2, false}, 6);
                       }),
                       "groups 4x2: expected groups of all 6 ranks, found 8"));
}

// Every group's contents are verified to the byte.
TEST(CollectiveGroups, HaveAFigureForEachGroup) {
  for (const char* engine : {"dma", "kernel", "auto"}) {
    CollectiveOptions options = by_groups("2x2:strided", "host:4");
    options.engines = {engine};
    const Measurement result = measured("host:4", options);
    ASSERT_TRUE(result.sampling) << engine;
    EXPECT_TRUE(result.sampling->verified) << engine;
    EXPECT_EQ(result.sampling->samples.size(), 2u);
    EXPECT_EQ(result.id.benchmark, kGroupsBenchmark);
    EXPECT_EQ(result.id.axes.number("ranks"), 2);
    EXPECT_EQ(result.id.axes.text("groups"), "2x2:strided");
    EXPECT_EQ(note(result, kGroupsNote), "all_reduce 0 2; all_reduce 1 3");
    for (const char* name : {kGroupSeconds, kGroupAlone, kGroupSlowdown, kGroupBusbw}) {
      const std::vector<double> values = curve(result, name);
      ASSERT_EQ(values.size(), 2u) << name;
      for (const double value : values) EXPECT_GT(value, 0) << name;
    }
  }
}

TEST(CollectiveGroups, AllKindsAreRight) {
  for (const CollectiveKind kind : all_collectives()) {
    CollectiveOptions options = by_groups("2x2", "host:4");
    options.kinds = {kind};
    const Measurement result = measured("host:4", options);
    ASSERT_TRUE(result.sampling) << name(kind);
    EXPECT_TRUE(result.sampling->verified) << name(kind);
  }
}

// Two divisions at once; and one of whose groups every second one makes the other call.
TEST(CollectiveGroups, AnotherCollectiveRunsBeside) {
  CollectiveOptions options = by_groups("2x2", "host:4");
  set_beside(options, 16 << 10, "2x2:strided");
  const Measurement both = measured("host:4", options);
  ASSERT_TRUE(both.sampling);
  EXPECT_TRUE(both.sampling->verified);
  EXPECT_EQ(note(both, kGroupsNote),
            "all_reduce 0-1; all_reduce 2-3; all_gather 0 2; all_gather 1 3");
  EXPECT_EQ(both.id.axes.text("beside"), "all_gather 16 KiB");
  EXPECT_EQ(both.id.axes.text("beside_groups"), "2x2:strided");
  set_beside(options, 16 << 10);
  const Measurement odd = measured("host:4", options);
  ASSERT_TRUE(odd.sampling);
  EXPECT_TRUE(odd.sampling->verified);
  EXPECT_EQ(note(odd, kGroupsNote), "all_reduce 0-1; all_gather 2-3");
  EXPECT_EQ(odd.id.axes.text("beside_groups"), "odd");
}

// Groups that share no link take as long together as alone; two collectives of all ranks do not.
TEST(CollectiveGroups, SlowEachOtherWhereTheyShareLinks) {
  CollectiveOptions options = by_groups("4x2", "sim:h200-8");
  options.sizes = {64 << 20};
  const Measurement apart = measured("sim:h200-8", options);
  for (const double slowdown : curve(apart, kGroupSlowdown)) EXPECT_NEAR(slowdown, 1, 0.02);
  set_beside(options, 64 << 20, "1x8");
  const Measurement beside = measured("sim:h200-8", options);
  ASSERT_EQ(curve(beside, kGroupSlowdown).size(), 5u);
  for (const double slowdown : curve(beside, kGroupSlowdown)) EXPECT_GT(slowdown, 1.2);
}

// The strided groups have a rank of each node and share its rails.
TEST(CollectiveGroups, RunOverNodes) {
  const char* device = "sim:p5-48xlarge:devices=2:nodes=2";
  for (const char* division : {"2x2", "2x2:strided"}) {
    CollectiveOptions options = by_groups(division, device);
    options.sizes = {4 << 20};
    const Measurement result = measured(device, options);
    ASSERT_TRUE(result.sampling) << division;
    EXPECT_EQ(curve(result, kGroupSeconds).size(), 2u);
    const double network = result.cost.more.value(kNetworkBytes);
    EXPECT_EQ(network > 0, division == std::string("2x2:strided"));
  }
}

TEST(CollectiveGroups, AreRefusedOrSkippedWithTheReason) {
  const auto machine = open_machine("host:4");
  const auto refusal = [&](const CollectiveOptions& options) {
    return message_of<UsageError>([&] { collective_benchmark(*machine, options, {}); });
  };
  EXPECT_TRUE(contains(refusal(by_groups("4x2", "host:4")), "expected groups of all 4 ranks"));
  CollectiveOptions options = by_groups("1x4", "host:4");
  set_beside(options, 16 << 10);
  EXPECT_TRUE(contains(refusal(options), "expected two groups or more"));
  options = by_groups("2x2", "host:4");
  set_beside(options, 1);
  EXPECT_TRUE(contains(refusal(options), "expected at least 8 bytes"));
  options = by_groups("2x2", "host:4");
  options.engines = {"host"};
  const Measurement skipped = measured("host:4", options);
  ASSERT_TRUE(skipped.skipped);
  EXPECT_TRUE(contains(skipped.skipped->reason, "not on groups of them"));
}

}  // namespace
}  // namespace duet
