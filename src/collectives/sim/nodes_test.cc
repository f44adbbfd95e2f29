// Simulated collectives over nodes of p5.48xlarge, compared with what nccl-tests measured there at
// the largest size (docs/simulation.md). Bus bandwidth in GB/s must agree within 20%.
#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/cost.h"
#include "collectives/own_engines.h"
#include "core/error.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

constexpr std::uint64_t kBytes = 8ull << 30;

class OverNodes : public ::testing::Test {
 protected:
  double bus(CollectiveKind kind, int nodes, std::uint64_t bytes = kBytes,
             const std::string& platform = "p5-48xlarge") {
    const auto machine = open_machine("sim:" + platform + ":nodes=" + std::to_string(nodes));
    Team team(*machine);
    Collective collective;
    collective.kind = kind;
    collective.dtype = DType::bf16;
    collective.count = count_for(kind, collective.dtype, bytes, team.size());
    const auto engine = make_vendor_model_collectives();
    const auto session = engine->open(team);
    CollectiveWork work(team, *session, collective, false, true);
    const Sampling sampling = Sampler(team).measure(work, short_mode(1));
    verified_ = sampling.verified;
    return work.cost().more.value(kBusBytes) / sampling.samples.back() / 1e9;
  }

  // Returns the simulated bandwidths, for two nodes and more.
  std::vector<double> expect_near(CollectiveKind kind, const std::vector<double>& measured) {
    std::vector<double> simulated;
    int nodes = 2;
    for (const double each : measured) {
      simulated.push_back(bus(kind, nodes));
      EXPECT_NEAR(simulated.back(), each, 0.2 * each) << nodes << " nodes";
      nodes *= 2;
    }
    return simulated;
  }

  static void expect_falling(const std::vector<double>& simulated) {
    for (std::size_t i = 1; i < simulated.size(); ++i) EXPECT_LT(simulated[i], simulated[i - 1]);
  }

  bool verified_ = false;  // whether the last call was verified
};

TEST_F(OverNodes, AllToAllFallsSteadily) {
  expect_falling(expect_near(CollectiveKind::all_to_all, {79.3, 54.1, 49.6, 44.2}));
}

TEST_F(OverNodes, AllGatherFallsGently) {
  const std::vector<double> simulated =
      expect_near(CollectiveKind::all_gather, {328.6, 330.9, 293.7, 265.2});
  expect_falling(simulated);
  EXPECT_GT(simulated.back(), 0.85 * simulated.front());
}

// Two trees: with more than two nodes each node sends twice as much as with two nodes, however many
// nodes there are.
TEST_F(OverNodes, AllReduceFallsFromTwoNodesToFourAndNoFurther) {
  const std::vector<double> simulated =
      expect_near(CollectiveKind::all_reduce, {477.7, 357, 355, 356});
  EXPECT_GT(simulated[0], 1.3 * simulated[1]);
  EXPECT_NEAR(simulated[3], simulated[1], 0.04 * simulated[1]);
}

// 64 KiB over 8 nodes: a tree takes 3 steps up and 3 down, a ring 63, of 28 us each.
TEST_F(OverNodes, TreesTakeFewSteps) {
  const double tree = bus(CollectiveKind::all_reduce, 8, 64 << 10);
  const double ring = bus(CollectiveKind::reduce_scatter, 8, 64 << 10);
  EXPECT_GT(tree, 8 * ring);
}

TEST_F(OverNodes, LeavesWhatItShould) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::reduce_scatter,
        CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
    EXPECT_GT(bus(kind, 3, 1 << 18), 0) << name(kind);
    EXPECT_TRUE(verified_) << name(kind);
  }
}

// A ring of 1,024 ranks takes one step per rank. Each rank communicates with its neighbours only.
TEST_F(OverNodes, ARingOfAThousand) {
  const double of_256 = bus(CollectiveKind::all_gather, 32);
  const double of_1024 = bus(CollectiveKind::all_gather, 128);
  EXPECT_LT(of_1024, of_256);
  EXPECT_GT(of_1024, of_256 / 2);
}

// Each device has seven links of 50 GB/s within its node and a NIC of 50 GB/s to other nodes. Eight
// rings use all of them.
TEST_F(OverNodes, RingsUseAllLinksOfAMesh) {
  EXPECT_GT(bus(CollectiveKind::all_gather, 4, kBytes, "mi300x-8"), 200);
}

TEST_F(OverNodes, OneNodeIsAsFastAsByItself) {
  const double one = bus(CollectiveKind::all_gather, 1);
  EXPECT_NEAR(one, 0.96 * 368, 10);
}

}  // namespace
}  // namespace duet
