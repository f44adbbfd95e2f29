#include "soak/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "soak/finding.h"
#include "soak/injection.h"

namespace duet {
namespace {

SoakMenu menu_of_four() {
  SoakMenu menu;
  menu.ranks = 4;
  for (const std::int64_t side : {64, 128, 256}) {
    GemmProblem problem;
    problem.m = problem.n = problem.k = side;
    menu.gemms.push_back(problem);
  }
  menu.executors = {Executor::dma, Executor::kernel};
  menu.collectives = {{"dma", CollectiveKind::all_gather, DType::int8},
                      {"kernel", CollectiveKind::all_reduce, DType::fp32},
                      {"dma", CollectiveKind::broadcast, DType::int8}};
  menu.least_bytes = 1 << 14;
  menu.most_bytes = 1 << 18;
  return menu;
}

TEST(SoakPlan, IsTheSameForASeedAndARoundAlone) {
  const SoakMenu menu = menu_of_four();
  const SoakRoundPlan one = soak_round(menu, 7, 12), again = soak_round(menu, 7, 12);
  EXPECT_EQ(one.seed, again.seed);
  EXPECT_EQ(one.peer_bytes, again.peer_bytes);
  EXPECT_EQ(one.engine, again.engine);
  EXPECT_EQ(one.collective.count, again.collective.count);
  EXPECT_NE(one.seed, soak_round(menu, 7, 13).seed);
  EXPECT_NE(one.seed, soak_round(menu, 8, 12).seed);
}

TEST(SoakPlan, DrawsAllThatTheMenuHasWithinItsSizes) {
  const SoakMenu menu = menu_of_four();
  std::set<std::int64_t> sides;
  std::set<Executor> executors;
  std::set<CollectiveKind> kinds;
  std::set<int> shifts, roots;
  std::set<std::uint64_t> sizes;
  for (int round = 1; round <= 200; ++round) {
    const SoakRoundPlan plan = soak_round(menu, 1, round);
    sides.insert(plan.gemm.m);
    executors.insert(plan.executor);
    kinds.insert(plan.collective.kind);
    shifts.insert(plan.shift);
    roots.insert(plan.collective.root);
    sizes.insert(plan.peer_bytes);
    EXPECT_GE(plan.peer_bytes, menu.least_bytes);
    EXPECT_LE(plan.peer_bytes, menu.most_bytes);
    EXPECT_GE(plan.host_bytes, 1u);
    EXPECT_LE(size_bytes(plan.collective, menu.ranks), menu.most_bytes);
    EXPECT_NO_THROW(check(plan.collective, menu.ranks));
  }
  EXPECT_EQ(sides.size(), 3u);
  EXPECT_EQ(executors.size(), 2u);
  EXPECT_EQ(kinds.size(), 3u);
  EXPECT_EQ(shifts, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(roots, (std::set<int>{0, 1, 2, 3}));
  EXPECT_GT(sizes.size(), 100u);
}

TEST(SoakPlan, OfOneRankHasNoPeerAndNoCollective) {
  SoakMenu menu = menu_of_four();
  menu.ranks = 1;
  menu.collectives = {};
  const SoakRoundPlan plan = soak_round(menu, 1, 1);
  EXPECT_EQ(plan.shift, 0);
  EXPECT_EQ(plan.engine, "");
}

TEST(SoakPlan, ContentsOfBatchesLanesAndRanksDiffer) {
  const SoakRoundPlan plan = soak_round(menu_of_four(), 1, 1);
  std::set<std::uint64_t> seeds;
  for (int batch = 0; batch < 10; ++batch) {
    for (int lane = 0; lane < 7; ++lane) {
      for (int rank = 0; rank < 4; ++rank) {
        seeds.insert(soak_seed(plan, batch, lane, rank));
        EXPECT_EQ(soak_seed(plan, batch, lane, rank),
                  soak_seed(plan, batch, lane, 0) + static_cast<std::uint64_t>(rank));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 280u);
}

TEST(SoakFindings, AreReadBackFromTheirTexts) {
  const SoakFinding link{SoakFault::link, "cuda:0 > cuda:1", "a copy by dma: 1 of 2 bytes"};
  const auto again = parse_soak_finding(text_of(link));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->fault, link.fault);
  EXPECT_EQ(again->place, link.place);
  EXPECT_EQ(again->text, link.text);
  EXPECT_FALSE(parse_soak_finding("weather at cuda:0: rain"));
  EXPECT_FALSE(parse_soak_finding("link at nowhere"));
}

TEST(SoakInjections, AreParsed) {
  const std::vector<Injection> two = parse_injections("memory@3:1,slow@7:0", 2);
  ASSERT_EQ(two.size(), 2u);
  const Injections all(two);
  EXPECT_TRUE(all.has(InjectedFault::memory, 3, 1));
  EXPECT_TRUE(all.has(InjectedFault::slow, 7, 0));
  EXPECT_FALSE(all.has(InjectedFault::slow, 3, 1));
  for (const char* bad : {"memory", "memory@3", "memory@0:1", "memory@3:2", "memory@x:1",
                          "rust@3:1", ",memory@3:1"}) {
    EXPECT_THROW(parse_injections(bad, 2), UsageError) << bad;
  }
}

}  // namespace
}  // namespace duet
