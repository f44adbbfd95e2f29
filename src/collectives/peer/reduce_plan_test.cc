// Reductions through staging slots: many pieces, calls in a row, ranks out of step, and empty
// parts.
#include "collectives/peer/reduce_plan.h"

#include <gtest/gtest.h>

#include "collectives/peer/all_reduce_plans.h"
#include "collectives/peer/calls_fixture.h"
#include "collectives/peer/engine.h"

namespace duet {
namespace {

// A session whose all_reduce goes through slots at any size, in pieces of limited size. `dma`
// itself uses another algorithm for small sizes.
class Slots : public CollectiveSession {
 public:
  Slots(Team& team, std::uint64_t largest) : watchdog_(team), largest_(largest) {
    for (int local = 0; local < team.local_size(); ++local) {
      lanes_.push_back(
          std::make_unique<SideStreams>(team.local_rank(local).device, CopyLanes{2, true}));
    }
  }
  std::optional<Skipped> unsupported(const Collective&, bool) const override {
    return std::nullopt;
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    SideStreams& lanes = *lanes_[static_cast<std::size_t>(rank.local)];
    auto first =
        std::make_unique<ReducePlan>(rank, collective, buffers, lanes, watchdog_, largest_);
    if (collective.kind == CollectiveKind::reduce_scatter) return first;
    return std::make_unique<SpreadPlan>(rank, collective, buffers, lanes, watchdog_,
                                        std::move(first), true);
  }

 private:
  Watchdog watchdog_;
  std::uint64_t largest_;
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

class Reductions : public ::testing::TestWithParam<const char*> {
 protected:
  void run(CollectiveKind kind, std::uint64_t count, const Rounds& rounds) {
    run_calls(team_, plans_of(*make_dma_collectives()->open(team_)), collective_of(kind, count),
              rounds);
    for (const std::uint64_t largest : {kLargestPiece, std::uint64_t{64} << 10}) {
      Slots slots(team_, largest);
      run_calls(team_, plans_of(slots), collective_of(kind, count), rounds);
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Reductions, OfManyPiecesInARow) {
  // The largest size at which a simulated machine keeps contents.
  const auto ranks = static_cast<std::uint64_t>(team_.size());
  run(CollectiveKind::reduce_scatter, 4000003 / ranks, {2});
  run(CollectiveKind::all_reduce, 2000003, {2});
}

TEST_P(Reductions, OfFewElementsAThousandTimes) {
  // With 2 elements not every rank has a part, and a rank without one may run ahead.
  run(CollectiveKind::all_reduce, 2, {1000});
  run(CollectiveKind::all_reduce, 37, {1000});
  run(CollectiveKind::reduce_scatter, 3, {1000});
}

// Two exchanges: the first does not end with a barrier, and the second does not begin with one.
TEST(KernelReductions, OfLargeBuffersInTwoSteps) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  const auto session = make_kernel_collectives()->open(team);
  const Collective large = collective_of(CollectiveKind::all_reduce, (9 << 20) + 5);
  team.each([&](Rank& rank) {
    Calls calls(rank, plans_of(*session), large, 3);
    EXPECT_EQ(calls.plan().algorithm().find("kernels of"), 0u) << calls.plan().algorithm();
    for (std::size_t round = 0; round < 3; ++round) calls.enqueue(round);
    calls.check();
    team.barrier("all ranks to have checked");
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, Reductions,
                         machines_of({"host:3", "sim:h200-4", "sim:mi300x-8"}), machine_label);

class LateReductions : public Reductions {};

TEST_P(LateReductions, RanksOutOfStepLeaveTheSame) {
  run(CollectiveKind::reduce_scatter, 300007, {20, false, 2000});
  run(CollectiveKind::all_reduce, 600011, {10, false, 2000});
}

INSTANTIATE_TEST_SUITE_P(Host, LateReductions, ::testing::Values("host:4"));

TEST(Pieces, AreSmallAtTheEndAndLeaveNothingOut) {
  for (const std::uint64_t bytes : {1ull, 4096ull, 700000ull, 5000000ull, 1ull << 30}) {
    std::uint64_t begin = 0;
    for (const ByteRange& piece : cut_into_pieces(bytes, 4 << 20)) {
      EXPECT_EQ(piece.begin, begin);
      EXPECT_LE(piece.bytes, 4u << 20);
      begin += piece.bytes;
    }
    EXPECT_EQ(begin, bytes);
  }
  EXPECT_TRUE(cut_into_pieces(0, 4 << 20).empty());
  EXPECT_EQ(cut_into_pieces(64 << 20, 4 << 20).back().bytes, 1u << 20);
  EXPECT_EQ(cut_into_pieces(3 << 20, 4 << 20).size(), 3u);
}

}  // namespace
}  // namespace duet
