// Scenarios on simulated machines, where times are exact, and on the CPU, where results are
// verified.
#include "overlap/runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/message_fixture.h"
#include "overlap/runner_fixture.h"

namespace duet {
namespace {

TEST(OverlapRunner, FindsThePapersPictureOnASimulatedMachine) {
  const auto machine = open_machine("sim:mi300x-8");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario = scenario_set("paper")[12];  // cb5_1.63G all_gather
  const OverlapResult serial = runner.run(scenario, {OverlapPolicyKind::serial, 0});
  EXPECT_NEAR(*serial.metrics.fraction_of_ideal, 0, 0.05);
  EXPECT_NEAR(serial.metrics.compute_slowdown, 1, 0.01);
  EXPECT_EQ(serial.balance, Balance::g_long);
  const OverlapResult priority = runner.run(scenario, {OverlapPolicyKind::priority, 0});
  const OverlapResult dma = runner.run(scenario, {OverlapPolicyKind::dma, 0});
  EXPECT_EQ(dma.engine, "dma");
  EXPECT_FALSE(dma.compute_first);
  // Copy engines use no compute units.
  EXPECT_GT(*dma.metrics.fraction_of_ideal, *priority.metrics.fraction_of_ideal);
  EXPECT_LT(dma.metrics.compute_slowdown, priority.metrics.compute_slowdown);
  EXPECT_LE(dma.metrics.bound, 1.001);
}

TEST(OverlapRunner, MeasuresAllPieces) {
  const auto machine = open_machine("sim:mi300x-8");
  OverlapRunner runner(*machine, few());
  OverlapScenario scenario = parse_scenario("gemm:8192x8192x8192", "all_gather:896M");
  const OverlapTimes whole = runner.run(scenario, {OverlapPolicyKind::dma, 0}).times;
  scenario.pieces = 4;
  scenario.name += " in 4";
  for (const OverlapPolicyKind kind : {OverlapPolicyKind::serial, OverlapPolicyKind::dma}) {
    const OverlapTimes t = runner.run(scenario, {kind, 0}).times;
    EXPECT_GT(t.compute, 0.9 * whole.compute);
    EXPECT_GT(t.communication, 0.9 * whole.communication);
    EXPECT_LT(t.compute, 1.5 * whole.compute);
    EXPECT_LT(t.communication, 1.5 * whole.communication);
    EXPECT_GE(t.together, std::max(t.compute, t.engine));
  }
}

TEST(OverlapRunner, FindsTheBestOfASweep) {
  const auto machine = open_machine("sim:mi300x-8");
  EXPECT_EQ(partition_sweep(machine->device(0).info()), (std::vector<int>{8, 16, 32, 64}));
  OverlapRuns runs = few();
  runs.sweep = {8, 16, 32, 64};
  OverlapRunner runner(*machine, runs);
  const OverlapScenario scenario = scenario_set("paper")[12];
  for (const OverlapPolicyKind kind :
       {OverlapPolicyKind::partition, OverlapPolicyKind::priority_partition,
        OverlapPolicyKind::dma_partition}) {
    const OverlapResult best = runner.run(scenario, {kind, 0});
    EXPECT_EQ(best.policy.kind, kind);
    double least = best.times.together;
    for (const int units : {8, 16, 32, 64}) {
      const OverlapResult one = runner.run(scenario, {kind, units});
      EXPECT_EQ(one.policy.units, units);
      least = std::min(least, one.times.together);
    }
    EXPECT_EQ(best.times.together, least) << name(best.policy);
  }
}

// A collective with fewer units is slower, and so is a GEMM that leaves more units to the
// collective.
TEST(OverlapRunner, KeepsBothSidesToTheirPart) {
  const auto machine = open_machine("sim:mi300x-8");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario = scenario_set("paper")[12];
  const OverlapResult small = runner.run(scenario, {OverlapPolicyKind::partition, 8});
  const OverlapResult large = runner.run(scenario, {OverlapPolicyKind::partition, 128});
  EXPECT_EQ(small.engine, "vendor-model-8cu");
  EXPECT_GT(small.times.engine, 2 * large.times.engine);
  EXPECT_GT(large.times.compute_beside, 1.2 * large.times.compute);
  EXPECT_LT(small.times.compute_beside, 1.1 * small.times.compute);
  EXPECT_TRUE(contains(message_of<UsageError>([&] {
                         runner.run(scenario, {OverlapPolicyKind::partition, 304});
                       }),
                       "fewer than the 304 compute units"));
}

// Copy engines gather over the rails while the GEMM keeps all compute units.
TEST(OverlapRunner, HidesAGemmBehindAnAllGatherOverNodes) {
  const auto machine = open_machine("sim:p5-48xlarge:devices=4:nodes=16");
  OverlapRuns runs = few();
  runs.mode.iterations = 1;
  OverlapRunner runner(*machine, runs);
  const OverlapScenario scenario = parse_scenario("gemm:8192x8192x8192", "all_gather:896M");
  const OverlapResult dma = runner.run(scenario, {OverlapPolicyKind::dma, 0});
  EXPECT_EQ(dma.together.iterations.front().works[0].size(), 64u);
  EXPECT_EQ(dma.engine, "dma");
  EXPECT_LT(dma.metrics.compute_slowdown, 1.1);
  EXPECT_LT(dma.times.together, 1.05 * std::max(dma.times.compute, dma.times.engine));
}

// An offload copy uses the link to the host, and neither compute units nor links between GPUs: with
// copy engines all three run at once. Serial is the GEMM, then the collective, with the copy
// beside.
TEST(OverlapRunner, RunsACopyBesideBoth) {
  const auto machine = open_machine("sim:h200-4");
  OverlapRunner runner(*machine, few());
  const OverlapScenario pair = parse_scenario("gemm:8192x8192x8192", "all_gather:896M");
  const OverlapScenario scenario = with_copy(pair, "copy:device_to_host:64M");
  const OverlapResult both = runner.run(pair, {OverlapPolicyKind::dma, 0});
  const OverlapResult dma = runner.run(scenario, {OverlapPolicyKind::dma, 0});
  ASSERT_EQ(dma.together.iterations.front().works.size(), 3u);
  ASSERT_TRUE(dma.metrics.copy_slowdown);
  EXPECT_NEAR(*dma.metrics.copy_slowdown, 1, 0.1);
  EXPECT_GT(dma.metrics.speedup, both.metrics.speedup);
  const OverlapResult serial = runner.run(scenario, {OverlapPolicyKind::serial, 0});
  EXPECT_LT(serial.times.together,
            serial.times.compute + serial.times.communication + serial.times.copy);
  for (const auto& one : serial.together.iterations) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_GE(one.works[1][rank].begin, one.works[0][rank].end);
      EXPECT_LT(one.works[2][rank].begin, one.works[0][rank].end);
    }
  }
}

TEST(OverlapRunner, LeavesRightResultsOfThreeOnTheCpu) {
  const auto machine = open_machine("host:2");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario =
      with_copy(parse_scenario("gemm:128x96x64:fp32", "all_reduce:256K"), "copy:host_to_device:1M");
  const OverlapResult result = runner.run(scenario, {OverlapPolicyKind::dma, 0});
  EXPECT_TRUE(result.together.verified);
  EXPECT_GT(result.times.copy_beside, 0);
}

TEST(OverlapRunner, LeavesRightResultsOnTheCpu) {
  const auto machine = open_machine("host:2");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario = parse_scenario("gemm:128x96x64:fp32", "all_reduce:256K");
  for (const OverlapPolicyKind kind : {OverlapPolicyKind::serial, OverlapPolicyKind::base,
                                       OverlapPolicyKind::priority, OverlapPolicyKind::dma}) {
    const OverlapResult result = runner.run(scenario, {kind, 0});
    EXPECT_TRUE(result.together.verified) << name(OverlapPolicy{kind, 0});
    EXPECT_GT(result.times.together, 0);
  }
}

TEST(OverlapRunner, SaysWhereThereIsNoEnergyToTake) {
  const auto machine = open_machine("host:2");
  OverlapRuns runs = few();
  runs.energy_seconds = 1;
  OverlapRunner runner(*machine, runs);
  const OverlapResult result = runner.run(parse_scenario("gemm:64x64x64:fp32", "all_gather:64K"),
                                          {OverlapPolicyKind::dma, 0});
  EXPECT_FALSE(result.draw);
  EXPECT_EQ(result.together.warnings,
            std::vector<std::string>{"no energy: host:0 has no energy counter"});
}

TEST(OverlapRunner, SaysWhatItDoesNotHave) {
  const auto machine = open_machine("host:2");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario = parse_scenario("gemm:64x64x64:fp32", "all_gather:64K");
  EXPECT_THROW(runner.run(scenario, {OverlapPolicyKind::zero_cta, 0}), Unavailable);
  EXPECT_THROW(runner.run(scenario, {OverlapPolicyKind::partition, 1}), Unavailable);
  EXPECT_THROW(runner.run(scenario, {OverlapPolicyKind::dma_partition, 0}), Unavailable);
  OverlapScenario odd = scenario;
  std::get<CollectiveSide>(odd.communication).bytes = 1001;
  EXPECT_THROW(runner.run(odd, {OverlapPolicyKind::base, 0}), UsageError);
}

}  // namespace
}  // namespace duet
