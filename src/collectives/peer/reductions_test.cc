// Reductions through staging slots: many pieces, calls in a row, ranks out of step, and empty
// parts.
#include <gtest/gtest.h>

#include "collectives/own_engines.h"
#include "collectives/partition.h"
#include "collectives/peer/plans_fixture.h"

namespace duet {
namespace {

class Reductions : public ::testing::TestWithParam<const char*> {
 protected:
  void run(CollectiveKind kind, std::uint64_t count, const Rounds& rounds) {
    run_calls(team_, plans_of(*make_dma_collectives()->open(team_)), collective_of(kind, count),
              rounds);
    // Through slots at any size: `dma` itself has another algorithm for small ones.
    for (const std::uint64_t largest : {std::uint64_t{0}, std::uint64_t{64} << 10}) {
      ReductionSession slots(team_, staged_reduction(), largest);
      run_calls(team_, plans_of(slots), collective_of(kind, count), rounds);
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Reductions, OfManyPiecesInARow) {
  const auto ranks = static_cast<std::uint64_t>(team_.size());
  run(CollectiveKind::reduce_scatter, 1000003 / ranks, {2});
  run(CollectiveKind::all_reduce, 1000003, {2});
}

TEST_P(Reductions, OfFewElementsManyTimes) {
  // With 2 elements not every rank has a part, and a rank without one may run ahead.
  run(CollectiveKind::all_reduce, 2, {300});
  run(CollectiveKind::all_reduce, 37, {300});
  run(CollectiveKind::reduce_scatter, 3, {300});
}

// An element that a rank contributes to a plan's sum.
std::int32_t element_of(int plan, int rank, std::size_t i) {
  return (plan == 0 ? 1 : 1000) * (rank + 1) + static_cast<std::int32_t>(i % 7);
}

// Plans in turn, on one stream.
TEST_P(Reductions, OfPlansThatShareStaging) {
  constexpr std::size_t kCount = 70001;
  constexpr int kRounds = 50;
  const auto session = make_dma_collectives()->open(team_);
  team_.each([&](Rank& rank) {
    const SharedStaging sharing(*session, rank);
    const auto ranks = static_cast<std::size_t>(rank.size);
    const auto mine = static_cast<std::size_t>(rank.index) * kCount;
    std::vector<Buffer> buffers;
    std::vector<std::unique_ptr<CollectivePlan>> plans;
    for (int plan = 0; plan < 2; ++plan) {
      std::vector<std::int32_t> sent;
      for (std::size_t i = 0; i < ranks * kCount; ++i) {
        sent.push_back(element_of(plan, rank.index, i));
      }
      buffers.push_back(rank.device.allocate(4 * ranks * kCount));
      rank.device.write(buffers.back().span(), sent.data());
      buffers.push_back(rank.device.allocate(4 * kCount));
      const CollectiveBuffers both{buffers[buffers.size() - 2].span(), buffers.back().span()};
      plans.push_back(
          session->plan(rank, collective_of(CollectiveKind::reduce_scatter, kCount), both));
    }
    const auto stream = rank.device.make_stream();
    for (int round = 0; round < kRounds; ++round) {
      for (const auto& plan : plans) plan->enqueue(*stream);
    }
    stream->synchronize(60);
    for (int plan = 0; plan < 2; ++plan) {
      std::vector<std::int32_t> sums(kCount), expected;
      rank.device.read(buffers[static_cast<std::size_t>(2 * plan + 1)].span(), sums.data());
      for (std::size_t i = 0; i < kCount; ++i) {
        expected.push_back(0);
        for (int from = 0; from < rank.size; ++from) {
          expected.back() += element_of(plan, from, mine + i);
        }
      }
      EXPECT_TRUE(sums == expected) << plan;
    }
    rank.team.barrier("all ranks to have checked");
  });
}

// As many plans as the memory has no room for, if each had slots of its own.
TEST(SharedStagingMemory, IsTakenOnce) {
  const auto machine = open_machine("sim:h200:devices=3");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  const Collective large = collective_of(CollectiveKind::reduce_scatter, 128 << 20);
  const auto make_many = [&](Rank& rank) {
    const auto sent = rank.device.allocate(3ULL << 29), received = rank.device.allocate(512 << 20);
    std::vector<std::unique_ptr<CollectivePlan>> plans;
    for (int plan = 0; plan < 600; ++plan) {  // 150.8 GB, and 256 MiB or more each
      plans.push_back(session->plan(rank, large, {sent.span(), received.span()}));
    }
  };
  EXPECT_THROW(team.each(make_many), OutOfMemory);
  team.each([&](Rank& rank) {
    const SharedStaging sharing(*session, rank);
    make_many(rank);
  });
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
  run(CollectiveKind::reduce_scatter, 70001, {12, false, 2000});
  run(CollectiveKind::all_reduce, 150001, {6, false, 2000});
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
