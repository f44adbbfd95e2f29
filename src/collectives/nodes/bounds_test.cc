// Simulated clusters of p5.48xlarge, beside the bounds of their rails and links: with perfect
// pipelining a call takes as long as the slower of both.
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/collective_work.h"
#include "collectives/own_engines.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

constexpr double kSize = 8.0 * (1ull << 30);
constexpr double kNetwork = 4 * 12.5e9 * 0.97;  // bytes per second of a rank's rails, each way
constexpr double kPort = 391e9;                 // of a push by a copy engine
constexpr double kLocal = 8;                    // ranks of a node

double seconds(CollectiveKind kind, int nodes) {
  const auto machine = open_machine("sim:p5-48xlarge:nodes=" + std::to_string(nodes));
  Team team(*machine);
  Collective c;
  c.kind = kind;
  c.dtype = DType::bf16;
  c.count = count_for(kind, c.dtype, static_cast<std::uint64_t>(kSize), team.size());
  const auto session = make_dma_collectives()->open(team);
  CollectiveWork work(team, *session, c, false, false);
  return Sampler(team).measure(work, short_mode(1)).samples.back();
}

struct Bounds {
  double network, port;
};

Bounds gather_bounds(int nodes) {
  return {kSize * (nodes - 1) / (nodes * kLocal * kNetwork),
          kSize * (kLocal - 1) / (kLocal * kPort)};
}

// Up to four nodes the links are the limit, from eight on the network. Without pipelining it would
// be the sum of both.
TEST(NodeBounds, AllGatherTakesAsLongAsTheSlowerOfRailsAndLinks) {
  for (const int nodes : {2, 8}) {
    const Bounds bounds = gather_bounds(nodes);
    const double slower = std::max(bounds.network, bounds.port);
    const double took = seconds(CollectiveKind::all_gather, nodes);
    EXPECT_GE(took, slower) << nodes << " nodes";
    EXPECT_LE(took, 1.03 * slower) << nodes << " nodes";
  }
}

// Slots and the kernels that reduce cost some percent more. An all_reduce does both halves.
TEST(NodeBounds, ReductionsTakeLittleLongerThanTheSlowerOfRailsAndLinks) {
  for (const int nodes : {2, 8}) {
    const Bounds bounds = gather_bounds(nodes);
    const double slower = std::max(bounds.network, bounds.port);
    for (const bool both : {false, true}) {
      const CollectiveKind kind =
          both ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
      const double least = both ? 2 * slower : slower;
      const double took = seconds(kind, nodes);
      EXPECT_GE(took, least) << name(kind) << " over " << nodes << " nodes";
      EXPECT_LE(took, 1.08 * least) << name(kind) << " over " << nodes << " nodes";
    }
  }
}

TEST(NodeBounds, AllToAllTakesAsLongAsItsRails) {
  for (const int nodes : {2, 4}) {
    const double least = kSize * (nodes - 1) / (nodes * kNetwork);
    const double took = seconds(CollectiveKind::all_to_all, nodes);
    EXPECT_GE(took, least) << nodes << " nodes";
    EXPECT_LE(took, 1.03 * least) << nodes << " nodes";
  }
}

}  // namespace
}  // namespace duet
