// Moves through staging slots: every kind, in one piece and in many, in place, calls in a row,
// ranks out of step, and two sessions at once.
#include <gtest/gtest.h>

#include "collectives/own_engines.h"
#include "collectives/peer/plans_fixture.h"
#include "collectives/session/calls_fixture.h"
#include "collectives/uneven_counts_fixture.h"

namespace duet {
namespace {

Collective of(CollectiveKind kind, std::uint64_t count, int ranks) {
  Collective c = collective_of(kind, count, ranks - 1);
  if (kind == CollectiveKind::all_to_all_v) c.counts = uneven_counts(count, ranks);
  return c;
}

class StagedMoves : public ::testing::TestWithParam<const char*> {
 protected:
  void run(const MakePlan& make, const Collective& c, bool in_place, std::size_t rounds,
           std::uint64_t longest_delay = 0) {
    run_calls(team_, make, c, {rounds, in_place, longest_delay});
  }

  // Makes the plan directly, on lanes like those of a session.
  MakePlan in_pieces(std::uint64_t largest, CopyLanes copying) {
    lanes_.clear();
    for (int local = 0; local < team_.local_size(); ++local) {
      lanes_.push_back(std::make_unique<SideStreams>(team_.local_rank(local).device, copying));
    }
    return [this, largest](Rank& rank, const Collective& c, const CollectiveBuffers& buffers) {
      return plan_by(staged_moves(), rank, c, buffers,
                     {watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()},
                     [&](AlgorithmInput& input) { input.largest_piece = largest; });
    };
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  Watchdog watchdog_{team_};
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

TEST_P(StagedMoves, OfEveryKindAndSize) {
  for (const CopyLanes copying : {CopyLanes{2, true}, CopyLanes{team_.size(), false}}) {
    for (const CollectiveKind kind : all_collectives()) {
      if (reduces(kind)) continue;
      for (const std::uint64_t count : {0, 1, 4097, 300007}) {
        const Collective c = of(kind, count, team_.size());
        run(in_pieces(64 << 10, copying), c, false, 2);
        if (kind == CollectiveKind::all_to_all) run(in_pieces(64 << 10, copying), c, true, 2);
      }
    }
  }
}

TEST_P(StagedMoves, InPlaceOfTheEnginesThatHaveIt) {
  // The largest size at which a simulated machine keeps contents.
  const std::uint64_t large = (16u << 20) / static_cast<std::uint64_t>(team_.size());
  for (const auto make : {make_dma_collectives, make_auto_collectives}) {
    const auto session = make()->open(team_);
    run(plans_of(*session), of(CollectiveKind::all_to_all, large, team_.size()), true, 1);
    run(plans_of(*session), of(CollectiveKind::all_to_all, 37, team_.size()), true, 300);
  }
}

TEST_P(StagedMoves, ManyCallsInARow) {
  const CopyLanes copying{2, true};
  run(in_pieces(64 << 10, copying), of(CollectiveKind::broadcast, 200001, team_.size()), false, 20);
  run(in_pieces(64 << 10, copying), of(CollectiveKind::all_gather, 37, team_.size()), false, 300);
  run(in_pieces(64 << 10, copying), of(CollectiveKind::send_recv, 131, team_.size()), false, 300);
}

TEST_P(StagedMoves, TwoSessionsRunBesideEachOther) {
  const auto first = make_dma_collectives()->open(team_),
             second = make_dma_collectives()->open(team_);
  run_beside(team_, plans_of(*first), of(CollectiveKind::all_to_all, 1001, team_.size()),
             plans_of(*second), of(CollectiveKind::all_to_all, 333, team_.size()), 60, true);
}

// Only one rank runs in place: all ranks use slots.
TEST_P(StagedMoves, OfRanksThatAreInPlaceAndRanksThatAreNot) {
  const auto session = make_dma_collectives()->open(team_);
  team_.each([&](Rank& rank) {
    const Collective c = of(CollectiveKind::all_to_all, 1001, rank.size);
    Calls calls(rank, plans_of(*session), c, 3, rank.index == 0);
    for (std::size_t round = 0; round < 3; ++round) calls.enqueue(round);
    calls.check();
    team_.barrier("all ranks to have checked");
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, StagedMoves,
                         machines_of({"host:1", "host:2", "host:3", "host:4", "host:5", "host:6",
                                      "host:7", "host:8", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

class LateStagedMoves : public StagedMoves {};

TEST_P(LateStagedMoves, RanksOutOfStepLeaveTheSame) {
  const auto session = make_dma_collectives()->open(team_);
  for (const bool in_place : {false, true}) {  // out of place by direct pushes
    run(plans_of(*session), of(CollectiveKind::all_to_all, 5000, team_.size()), in_place, 60, 500);
  }
  run(in_pieces(64 << 10, {2, true}), of(CollectiveKind::all_to_all, 700001, team_.size()), true,
      10, 2000);
}

INSTANTIATE_TEST_SUITE_P(Host, LateStagedMoves, ::testing::Values("host:4"), machine_label);

}  // namespace
}  // namespace duet
