// Teams on threads (host) and in virtual time (sim).
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

// Also where each waits for two others, of which one has thrown behind a call that both made.
TEST_P(TeamTest, AfterARankHasThrownAllWaitsThrowPeerFailed) {
  const auto run = [&] {
    team_.each([&](Rank& rank) {
      team_.barrier("a barrier");
      if (rank.index == 1) throw 42;
      for (int i = 0; i < 3; ++i) EXPECT_THROW(team_.barrier("another barrier"), PeerFailed);
    });
  };
  std::atomic<int> told{0};
  const int callback = team_.on_failure([&](const std::string& reason) {
    EXPECT_EQ(reason, "rank 1: an exception that is no std::exception");
    ++told;
  });
  EXPECT_THROW(run(), int);
  EXPECT_GE(told.load(), 1);
  team_.forget(callback);
}

// What a call throws on every rank; they go on from there, as many as before.
template <typename Error>
std::vector<std::string> thrown(Team& team, const std::function<void(Rank&)>& call) {
  std::vector<std::string> texts(static_cast<std::size_t>(team.size()));
  team.each([&](Rank& rank) {
    try {
      call(rank);
    } catch (const Error& error) {
      texts[static_cast<std::size_t>(rank.index)] = error.what();
    }
    for (int round = 0; round < 3; ++round) {
      const auto all = team.gather(rank, std::to_string(rank.index), "all ranks to go on", 5);
      EXPECT_EQ(all->size(), static_cast<std::size_t>(team.size()));
      EXPECT_EQ(all->back(), std::to_string(team.size() - 1));
    }
  });
  return texts;
}

TEST_P(TeamTest, RanksInDifferentCallsThrow) {
  const auto texts = thrown<BadArgument>(team_, [&](Rank& rank) {
    if (rank.index == 1) {
      team_.gather(rank, "bytes", "everyone's bytes", 5);
    } else {
      team_.barrier("a test's barrier", 5);
    }
  });
  for (const std::string& text : texts) {
    EXPECT_EQ(text,
              "ranks have come to different calls: rank 0 waits for a test's barrier, rank 1 for "
              "everyone's bytes");
  }
}

TEST_P(TeamTest, NoResultIsTakenForOneOfAnotherType) {
  const auto texts = thrown<BadArgument>(team_, [&](Rank& rank) {
    const auto count = [](const std::vector<std::string>& all) { return all.size(); };
    if (rank.index == 1) {
      team_.gather_as<std::size_t>(rank, "bytes", "everyone's bytes", count, 5);
    } else {
      team_.gather(rank, "bytes", "everyone's bytes", 5);
    }
  });
  for (const std::string& text : texts) {
    EXPECT_EQ(text,
              "ranks have come to different calls: rank 0 waits for everyone's bytes, rank 1 for "
              "everyone's bytes, of another result");
  }
}

TEST_P(TeamTest, AnErrorInReadingIsThatOfAllRanks) {
  const auto texts = thrown<Mismatch>(team_, [&](Rank& rank) {
    const auto refuse = [](const std::vector<std::string>&) -> int { throw Mismatch("unread"); };
    team_.gather_as<int>(rank, "bytes", "everyone's bytes", refuse, 5);
  });
  EXPECT_EQ(texts, std::vector<std::string>(texts.size(), "unread"));
}

// Before, between and after the collective calls of a step.
TEST_P(TeamTest, AStepThatFailsOnOneRankFailsOnAll) {
  for (int place = 0; place < 3; ++place) {
    const auto texts = thrown<OutOfMemory>(team_, [&](Rank& rank) {
      const auto fail_at = [&](int now) {
        if (rank.index == 1 && now == place) throw OutOfMemory("no room");
      };
      team_.all_or_none(
          rank, "all ranks to take a step",
          [&] {
            fail_at(0);
            team_.barrier("a first barrier", 5);
            fail_at(1);
            team_.gather(rank, "bytes", "a gather", 5);
            fail_at(2);
          },
          5);
    });
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      EXPECT_EQ(texts[rank], rank == 1 ? "no room" : "rank 1: no room") << "place " << place;
    }
  }
}

TEST_P(TeamTest, StepsWithinStepsFailOnce) {
  const auto texts = thrown<Unavailable>(team_, [&](Rank& rank) {
    team_.all_or_none(
        rank, "the outer step",
        [&] {
          team_.all_or_none(
              rank, "the inner step",
              [&] {
                if (rank.index != 0) throw Unavailable("not here");
                team_.barrier("a barrier", 5);
              },
              5);
        },
        5);
  });
  EXPECT_EQ(texts[0], "rank 1: not here");
  EXPECT_EQ(texts[1], "not here");
}

// Whoever gave up and comes again would else count as one that never came.
TEST_P(TeamTest, AfterATimeoutNoBarrierPairsUp) {
  EXPECT_THROW(team_.each([&](Rank& rank) {
    if (rank.index == 1) return;
    EXPECT_THROW(team_.barrier("the barrier that rank 1 never reaches", 0.05), Error);
    for (int again = 0; again < team_.size(); ++again) {
      EXPECT_THROW(team_.barrier("the barrier that rank 1 never reaches", 0.05), PeerFailed);
    }
    throw Mismatch("the end");
  }),
               Mismatch);
  team_.each([&](Rank&) { team_.barrier("a barrier after the failure", 5); });
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

TEST(Team, RanksWaitForEachOtherInsideOfEach) {
  auto machine = open_machine("host:2");
  Team team(*machine);
  EXPECT_THROW(team.barrier("nobody"), BadArgument);
}

TEST(Team, RunsInsideOfAnothersEach) {
  const auto outer_machine = open_machine("host:2"), inner_machine = open_machine("host:1");
  Team outer(*outer_machine);
  outer.each([&](Rank& rank) {
    if (rank.index == 0) {
      Team inner(*inner_machine);
      inner.each([&](Rank&) { inner.barrier("the only rank"); });
    }
    outer.barrier("a barrier behind another team's");
  });
}

TEST(Team, RefusesDevicesThatAreNotThere) {
  auto machine = open_machine("host:2");
  EXPECT_THROW(Team(*machine, {2}), BadArgument);
  EXPECT_THROW(Team(*machine, {0, 0}), BadArgument);
}

}  // namespace
}  // namespace duet
