// How a rank's network ends.
#include "collectives/nodes/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "collectives/nodes/rails_fixture.h"

namespace duet {
namespace {

constexpr int kSteps = 1000;

// Has something to do until so many steps were made behind `ending`.
class CountsSteps : public WireDriver {
 public:
  bool progress() override {
    steps += ending ? 1 : 0;
    return steps < kSteps;
  }
  bool active() const override { return false; }
  void arrived(std::uint32_t, bool) override {}
  bool has_come(std::uint32_t, bool) const override { return false; }

  std::atomic<bool> ending{false};
  std::atomic<int> steps{0};
};

// Peers may wait for what their last messages need of it. In one of three rounds: a proxy that gets
// no core for as long as it goes on makes no steps.
TEST(NetworkTest, GoesOnForAMomentWhenItEnds) {
  const std::string reason = why_no_rails("tcp;ofi_rxm");
  if (!reason.empty()) GTEST_SKIP() << reason;
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("host:1");
    Team team(*machine, {}, &processes);
    team.set_node_size(1);
    const NodeMap map = NodeMap::of(team);
    int most = 0;
    for (int round = 0; round < 3; ++round) {
      CountsSteps driver;
      auto networks = open_networks(team, map);
      networks[0]->run([&] { networks[0]->add(0, driver); });
      driver.ending = true;
      networks.clear();
      most = std::max(most, driver.steps.load());
    }
    EXPECT_GE(most, kSteps);
    processes.barrier("all networks to have ended", 20);
  });
}

}  // namespace
}  // namespace duet
