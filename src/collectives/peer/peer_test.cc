// Cases that a single checked call does not cover: calls in a row without host synchronisation,
// two sessions at once, and ranks that disagree.
#include <gtest/gtest.h>

#include "collectives/own_engines.h"
#include "collectives/session/calls_fixture.h"
#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

class Dma : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  std::unique_ptr<CollectiveEngine> engine_ = make_dma_collectives();
};

TEST_P(Dma, AThousandCallsInARowEachLeaveTheirOwn) {
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const auto session = engine_->open(team_);
    run_calls(team_, plans_of(*session), collective_of(kind, 37), {1000});
  }
}

// The preceding kernel has just written the data, which fit in a GPU's L2. Copy engines must see
// data that have not reached device memory yet.
TEST_P(Dma, SendsWhatTheKernelBeforeItHasJustWritten) {
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const auto session = engine_->open(team_);
    run_calls(team_, plans_of(*session), collective_of(kind, 128 << 10), {12});
  }
}

// For every engine. Some of the calls are graph launches; the calls between them are enqueued
// directly.
TEST_P(Dma, AHundredCallsSomeOfAGraphEachLeaveTheirOwn) {
  for (const auto make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto session = make()->open(team_);
    run_calls(team_, plans_of(*session), collective_of(CollectiveKind::all_to_all, 1001),
              {100, false, 0, 2});
  }
}

TEST_P(Dma, TwoSessionsRunBesideEachOther) {
  const auto first = engine_->open(team_), second = engine_->open(team_);
  run_beside(team_, plans_of(*first), collective_of(CollectiveKind::all_gather, 1001),
             plans_of(*second), collective_of(CollectiveKind::all_to_all, 333), 100);
}

TEST_P(Dma, RanksThatDisagreeAreToldWhoWantsWhat) {
  if (team_.size() < 2) GTEST_SKIP() << "one rank";
  const auto session = engine_->open(team_);
  EXPECT_EQ(message_of<BadArgument>([&] {
              team_.each([&](Rank& rank) {
                const std::uint64_t count = rank.index == 1 ? 8 : 4;
                Calls(rank, plans_of(*session), collective_of(CollectiveKind::all_gather, count),
                      1);
              });
            }),
            "ranks ask for different things: rank 0 for all_gather of 4 x int8, sum, root 0, "
            "counts [], rank 1 for all_gather of 8 x int8, sum, root 0, counts []");
}

INSTANTIATE_TEST_SUITE_P(Machines, Dma, machines_of({"host:4", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

}  // namespace
}  // namespace duet
