// Pipelined broadcasts with different piece sizes and roots, several calls in a row, and ranks out
// of step.
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/own_engines.h"
#include "collectives/peer/plans_fixture.h"
#include "collectives/session/calls_fixture.h"

namespace duet {
namespace {

struct Setting {
  std::uint64_t bytes = 0;
  std::uint64_t piece = 1;  // bytes of each
  int root = 0;
  bool in_place = false;
};

class Broadcasts : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (team_.size() < 3) GTEST_SKIP() << "fewer than three devices";
  }

  // Runs the broadcast by copy engines and by kernels. Copy engines run with the lanes for a single
  // shared link and with those for one link per peer, whatever links the machine has. Every third
  // call is a graph launch.
  void run(const Setting& setting, std::size_t rounds, std::uint64_t longest_delay = 0) {
    const Rounds how{rounds, setting.in_place, longest_delay, 3};
    const Collective c = collective_of(CollectiveKind::broadcast, setting.bytes, setting.root);
    for (const CopyLanes copying : {CopyLanes{2, true}, CopyLanes{team_.size() - 1, false}}) {
      run_calls(team_, by_copies(setting, copying), c, how);
    }
    if (setting.bytes > 0) run_calls(team_, by_kernels(setting), c, how);
  }

  MakePlan by_copies(const Setting& setting, CopyLanes copying) {
    lanes_.clear();
    for (int local = 0; local < team_.local_size(); ++local) {
      lanes_.push_back(std::make_unique<SideStreams>(team_.local_rank(local).device, copying));
    }
    return [this, setting](Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
      return plan_by(broadcast_pipeline(), rank, c, buffers,
                     {watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()},
                     [&](AlgorithmInput& input) { input.largest_piece = setting.piece; });
    };
  }

  MakePlan by_kernels(const Setting& setting) {
    return [this, setting](Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
      return plan_by(relay(), rank, c, buffers, {watchdog_},
                     [&](AlgorithmInput& input) { input.largest_piece = setting.piece; });
    };
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  Watchdog watchdog_{team_};
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

TEST_P(Broadcasts, OfManyPiecesInARow) {
  run({4000003, 100003, 0}, 4);
  run({1000003, 30011, 1, true}, 4);
}

TEST_P(Broadcasts, OfAFewBytesManyTimes) {
  // With 1 or 2 pieces not every rank has a piece to forward.
  run({1, 1, 0}, 200);
  run({2, 1, 1, true}, 200);
  run({37, 5, team_.size() - 1}, 200);
}

TEST_P(Broadcasts, OfNothing) { run({0, 1, 1}, 3); }

// The buffer is large enough for each engine to divide it into pieces.
TEST_P(Broadcasts, ByTheEngines) {
  for (const auto make : {make_dma_collectives, make_kernel_collectives}) {
    const auto session = make()->open(team_);
    const bool one_link = machine_->link(0, 1).shared, kernels = make == make_kernel_collectives;
    team_.each([&](Rank& rank) {
      const Collective c = collective_of(CollectiveKind::broadcast, (15 << 20) + 3, 2);
      Calls calls(rank, plans_of(*session), c, 1);
      EXPECT_EQ(calls.plan().algorithm().find("passed on") != std::string::npos,
                one_link || !kernels)
          << calls.plan().algorithm();
      calls.enqueue(0);
      calls.check();
      team_.barrier("all ranks to have checked");
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Broadcasts,
                         machines_of({"host:3", "host:8", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

class LateBroadcasts : public Broadcasts {};

TEST_P(LateBroadcasts, RanksOutOfStepLeaveTheSame) {
  run({300007, 20011, 1}, 20, 2000);
  run({1000, 100, 2, true}, 40, 2000);
}

INSTANTIATE_TEST_SUITE_P(Host, LateBroadcasts, ::testing::Values("host:3", "host:4"));

}  // namespace
}  // namespace duet
