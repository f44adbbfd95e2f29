// How a session plans: what ranks tell each other, an algorithm that the user chose, and schedules
// that are kept.
#include <gtest/gtest.h>

#include <cstdlib>

#include "collectives/own_engines.h"
#include "collectives/peer/plans_fixture.h"
#include "collectives/session/calls_fixture.h"
#include "core/error.h"

namespace duet {
namespace {

class ChosenAlgorithm {
 public:
  explicit ChosenAlgorithm(const char* name) { setenv("DUET_ALGORITHM", name, 1); }
  ~ChosenAlgorithm() { unsetenv("DUET_ALGORITHM"); }
  ChosenAlgorithm(const ChosenAlgorithm&) = delete;
  ChosenAlgorithm& operator=(const ChosenAlgorithm&) = delete;
};

class Planning : public ::testing::Test {
 protected:
  // The algorithm in words, of a call whose result is checked.
  static std::string algorithm_of(Team& team, CollectiveSession& session,
                                  const Collective& collective) {
    std::string text;
    team.each([&](Rank& rank) {
      Calls calls(rank, plans_of(session), collective, 1);
      if (rank.index == 0) text = calls.plan().algorithm();
      calls.enqueue(0);
      calls.check();
      team.barrier("all ranks to have checked");
    });
    return text;
  }

  std::unique_ptr<Machine> machine_ = open_machine("host:3");
  Team team_{*machine_};
};

TEST_F(Planning, TakesTheChosenAlgorithmWhereItFits) {
  const auto session = make_dma_collectives()->open(team_);
  const Collective broadcast = collective_of(CollectiveKind::broadcast, 1000);
  const Collective sums = collective_of(CollectiveKind::all_reduce, 1000);
  {
    const ChosenAlgorithm relayed("relay");
    EXPECT_NE(algorithm_of(team_, *session, broadcast).find("1 pieces passed on"),
              std::string::npos);
  }
  {
    const ChosenAlgorithm slots("staged-reduction");
    EXPECT_EQ(algorithm_of(team_, *session, sums).rfind("pushes through 1 slots", 0), 0u);
  }
  EXPECT_TRUE(session->take_warnings().empty());
  const ChosenAlgorithm none("relay");
  EXPECT_EQ(algorithm_of(team_, *session, sums).rfind("pulled and reduced", 0), 0u);
  EXPECT_EQ(session->take_warnings(),
            std::vector<std::string>{"DUET_ALGORITHM=relay does not fit all_reduce of 3 ranks"});
  EXPECT_TRUE(session->take_warnings().empty());
}

// Without being asked for by DUET_REDUCTIONS, and by more ranks than add of themselves.
TEST_F(Planning, TakesAdditionsWhereDevicesAdd) {
  const auto machine = open_machine("sim:h200:devices=3");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  const Collective c = collective_of(CollectiveKind::reduce_scatter, 1000);
  EXPECT_EQ(algorithm_of(team, *session, c).rfind("pushes through", 0), 0u);
  const ChosenAlgorithm added("additions");
  EXPECT_EQ(algorithm_of(team, *session, c).rfind("added where parts arrive", 0), 0u);
}

TEST_F(Planning, RefusesRanksThatChoseDifferentAlgorithms) {
  const Collective c = collective_of(CollectiveKind::all_gather, 100);
  team_.each([&](Rank& rank) {
    const Buffer send = rank.device.allocate(100), recv = rank.device.allocate(300);
    const CollectiveBuffers buffers{send.span(), recv.span()};
    CallFacts mine = call_facts(rank, c, buffers, false), other = mine;
    EXPECT_EQ(mine.algorithm, "-");
    other.algorithm = "relay";
    EXPECT_THROW(algorithm_input(rank, c, buffers, {}, {mine, other, mine}), BadArgument);
    EXPECT_NO_THROW(algorithm_input(rank, c, buffers, {}, {mine, mine, mine}));
  });
}

TEST_F(Planning, FactsSurviveTheirText) {
  CallFacts facts;
  facts.adds = true;
  facts.shift = 12;
  facts.units = 132;
  facts.algorithm = "relay";
  const CallFacts read = CallFacts::of(facts.text());
  EXPECT_EQ(read.text(), facts.text());
  EXPECT_TRUE(read.adds && !read.swaps && !read.wants_to_add);
  EXPECT_EQ(read.shift, 12);
  EXPECT_EQ(read.units, 132);
  EXPECT_EQ(read.algorithm, "relay");
}

// A form that nothing can run is told in the checker's words, before it is bound.
TEST_F(Planning, ASchedulesFormIsLookedAtWhereItIsKept) {
  Watchdog watchdog(team_);
  const Collective c = collective_of(CollectiveKind::all_gather, 100);
  Algorithm wrong = direct_moves();
  wrong.schedule = [](const AlgorithmInput& input) {
    RankSchedule schedule = direct_moves().schedule(input);
    schedule.steps.back().waits.push_back({7, input.rank, 0, 0});
    return schedule;
  };
  const auto plan_in = [&](Rank& rank) {
    const Buffer send = rank.device.allocate(100), recv = rank.device.allocate(300);
    SideStreams lanes(rank.device, {2, true});
    const ScheduleSession session{watchdog, &lanes, nullptr, true};
    EXPECT_THROW(plan_by(wrong, rank, c, {send.span(), recv.span()}, session), Error);
    EXPECT_NE(plan_by(direct_moves(), rank, c, {send.span(), recv.span()}, session)->schedule(),
              nullptr);
    team_.barrier("all ranks to have planned");
  };
  team_.each(plan_in);
}

}  // namespace
}  // namespace duet
