// Teams on threads (host) and on turns (sim): meeting, failing, giving up.
#include "team/team.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/error.h"

namespace duet {
namespace {

class TeamTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(TeamTest, RunsEveryRankOnItsDevice) {
  std::vector<std::string> names(static_cast<std::size_t>(team_.size()));
  team_.each([&](Rank& rank) {
    names[static_cast<std::size_t>(rank.index)] = rank.device.info().name;
    EXPECT_EQ(rank.size, team_.size());
  });
  for (int i = 0; i < team_.size(); ++i) {
    EXPECT_EQ(names[static_cast<std::size_t>(i)], machine_->device(i).info().name);
  }
}

TEST_P(TeamTest, BarrierHoldsUntilAllHaveCome) {
  std::atomic<int> before{0};
  for (int repeat = 0; repeat < 3; ++repeat) {
    before = 0;
    team_.each([&](Rank&) {
      for (int round = 1; round <= 20; ++round) {
        ++before;
        team_.barrier("a test's barrier");
        EXPECT_GE(before.load(), round * team_.size());
        team_.barrier("a test's second barrier");
      }
    });
  }
}

TEST_P(TeamTest, AFailingRankEndsTheOthersWaitsAndIsRethrown) {
  try {
    team_.each([&](Rank& rank) {
      if (rank.index == 1) throw Mismatch("rank 1 found a wrong byte");
      team_.barrier("the barrier that rank 1 never reaches");
    });
    FAIL() << "the error was lost";
  } catch (const Mismatch& error) {
    EXPECT_STREQ(error.what(), "rank 1 found a wrong byte");
  }
  team_.each([&](Rank&) { team_.barrier("a barrier after the failure"); });
}

INSTANTIATE_TEST_SUITE_P(Machines, TeamTest, ::testing::Values("host:2", "sim:mi300x-8"),
                         [](const auto& machine) { return machine.index == 0 ? "host" : "sim"; });

TEST(Team, ABarrierThatARankNeverReachesTimesOut) {
  auto machine = open_machine("host:2");
  Team team(*machine);
  EXPECT_THROW(team.each([&](Rank& rank) {
    if (rank.index == 0) team.barrier("a lonely barrier", 0.05);
  }),
               Timeout);
}

TEST(Team, RefusesDevicesThatAreNotThere) {
  auto machine = open_machine("host:2");
  EXPECT_THROW(Team(*machine, {2}), BadArgument);
  EXPECT_THROW(Team(*machine, {0, 0}), BadArgument);
}

}  // namespace
}  // namespace duet
