#include "overlap/side.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/message_fixture.h"
#include "overlap/runner_fixture.h"

namespace duet {
namespace {

TEST(Sides, AreParsed) {
  EXPECT_EQ(name(parse_side("gemm:64x32x16:fp16")), "64x32x16 fp16 nn");
  EXPECT_EQ(name(parse_side("all_to_all:1M")), "all_to_all");
  const auto copy = std::get<CopySide>(parse_side("copy:host_to_device:2M:kernel"));
  EXPECT_EQ(copy.kind, CopyKind::host_to_device);
  EXPECT_EQ(copy.bytes, 2u << 20);
  EXPECT_EQ(copy.executor, Executor::kernel);
  EXPECT_EQ(std::get<CopySide>(parse_side("copy:peer:1M")).executor, Executor::dma);
  for (const char* text : {"", "gemm", "copy:peer", "copy:away:1M", "copy:peer:1M:wire",
                           "copy:peer:1M:dma:x", "all_gather", "all_gather:1M:2"}) {
    EXPECT_THROW(parse_side(text), UsageError) << text;
  }
}

TEST(Sides, CopyFromEveryRankAtOnce) {
  const auto peers = transfers_of({CopyKind::peer, 64, Executor::dma}, 3);
  ASSERT_EQ(peers.size(), 3u);
  EXPECT_EQ(peers[2].source.rank, 2);
  EXPECT_EQ(peers[2].destination.rank, 0);
  EXPECT_EQ(peers[2].issuer, 2);
  const auto offload = transfers_of({CopyKind::device_to_host, 64, Executor::dma}, 2);
  EXPECT_EQ(offload[1].source.memory, MemoryKind::device);
  EXPECT_EQ(offload[1].destination.rank, 1);
  EXPECT_EQ(offload[1].destination.memory, MemoryKind::pinned);
}

TEST(Sides, OfAllKindsLeaveRightResultsOnTheCpu) {
  const auto machine = open_machine("host:2");
  OverlapRunner runner(*machine, few());
  const char* works[] = {"gemm:64x64x64:fp32", "all_reduce:256K", "copy:peer:100000",
                         "copy:host_to_device:100000"};
  for (const char* compute : works) {
    for (const char* communicate : works) {
      SCOPED_TRACE(std::string(compute) + " " + communicate);
      const OverlapResult result =
          runner.run(parse_scenario(compute, communicate), {OverlapPolicyKind::priority, 0});
      EXPECT_TRUE(result.together.verified);
      EXPECT_GT(result.times.together, 0);
    }
  }
}

// Both sides use the host's link, and each of them alone saturates it.
TEST(Sides, ShareALinkOnASimulatedMachine) {
  const auto machine = open_machine("sim:h200-4");
  OverlapRunner runner(*machine, few());
  const OverlapResult shared =
      runner.run(parse_scenario("copy:host_to_device:1G", "copy:host_to_device:1G"),
                 {OverlapPolicyKind::priority, 0});
  EXPECT_NEAR(shared.times.together, 2 * shared.times.compute, 0.01 * shared.times.together);
  const OverlapResult apart =
      runner.run(parse_scenario("copy:host_to_device:1G", "copy:device_to_host:1G"),
                 {OverlapPolicyKind::priority, 0});
  EXPECT_NEAR(apart.times.together, apart.times.compute, 0.01 * apart.times.together);
}

TEST(Sides, RefusePoliciesThatChooseForCollectives) {
  const auto machine = open_machine("host:2");
  OverlapRunner runner(*machine, few());
  const OverlapScenario scenario = parse_scenario("gemm:64x64x64:fp32", "copy:peer:64K");
  for (const OverlapPolicyKind kind : {OverlapPolicyKind::dma, OverlapPolicyKind::zero_cta}) {
    EXPECT_TRUE(contains(message_of<Unavailable>([&] {
                           runner.run(scenario, {kind, 0});
                         }),
                         "expected a collective"));
  }
  OverlapScenario odd = scenario;
  odd.pieces = 7;
  EXPECT_THROW(runner.run(odd, {OverlapPolicyKind::base, 0}), UsageError);
}

}  // namespace
}  // namespace duet
