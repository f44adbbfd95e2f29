// Reductions that are added where they arrive: many pieces, calls in a row, ranks out of step, in
// place, and empty parts.
#include <gtest/gtest.h>

#include <optional>

#include "collectives/own_engines.h"
#include "collectives/peer/call_facts.h"
#include "collectives/peer/plans_fixture.h"
#include "core/error.h"

namespace duet {
namespace {

class Additions : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (team_.size() < 2) GTEST_SKIP() << "one rank";
  }

  void run(CollectiveKind kind, std::uint64_t count, const Rounds& rounds) {
    for (const std::uint64_t largest : {std::uint64_t{0}, std::uint64_t{64} << 10}) {
      ReductionSession session(team_, additions(), largest);
      run_calls(team_, plans_of(session), collective_of(kind, count), rounds);
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Additions, OfManyPiecesInARow) {
  const auto ranks = static_cast<std::uint64_t>(team_.size());
  run(CollectiveKind::reduce_scatter, 1000003 / ranks, {2});
  run(CollectiveKind::all_reduce, 1000003, {2});
}

TEST_P(Additions, OfFewElementsManyTimes) {
  // With 2 elements not every rank has a part, and a rank without one may run ahead.
  run(CollectiveKind::all_reduce, 2, {300});
  run(CollectiveKind::reduce_scatter, 3, {300});
  run(CollectiveKind::reduce_scatter, 0, {2});
}

TEST_P(Additions, CapturedAndNot) { run(CollectiveKind::reduce_scatter, 70001, {12, false, 0, 3}); }

// Each rank's part begins where its own elements are.
TEST_P(Additions, InPlace) {
  constexpr std::size_t kCount = 70001;
  ReductionSession session(team_, additions(), 64 << 10);
  team_.each([&](Rank& rank) {
    const auto ranks = static_cast<std::size_t>(rank.size);
    const auto own = static_cast<std::size_t>(rank.index);
    std::vector<std::int32_t> sent(ranks * kCount, rank.index + 1), sums(kCount);
    const Buffer buffer = rank.device.allocate(4 * sent.size());
    rank.device.write(buffer.span(), sent.data());
    const Span part = buffer.slice(4 * own * kCount, 4 * kCount);
    const auto plan = session.plan(rank, collective_of(CollectiveKind::reduce_scatter, kCount),
                                   {buffer.span(), part});
    const auto stream = rank.device.make_stream();
    plan->enqueue(*stream);
    stream->synchronize(60);
    rank.device.read(part, sums.data());
    const int sum = rank.size * (rank.size + 1) / 2;
    EXPECT_EQ(sums, std::vector<std::int32_t>(kCount, sum));
    rank.team.barrier("all ranks to have checked");
  });
}

TEST_P(Additions, SendEachByteOnce) {
  ReductionSession session(team_, additions());
  team_.each([&](Rank& rank) {
    const Calls calls(rank, plans_of(session), collective_of(CollectiveKind::reduce_scatter, 1000),
                      1);
    EXPECT_EQ(calls.plan().wire_bytes(), 4000.0 * (rank.size - 1));
    EXPECT_EQ(calls.plan().algorithm(), "added where parts arrive, by 16 blocks");
    rank.team.barrier("all ranks to have checked");
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, Additions,
                         machines_of({"host:2", "host:3", "sim:h200-4", "sim:mi300x-8"}),
                         machine_label);

class LateAdditions : public Additions {};

TEST_P(LateAdditions, RanksOutOfStepLeaveTheSame) {
  run(CollectiveKind::reduce_scatter, 70001, {12, false, 2000});
  run(CollectiveKind::all_reduce, 150001, {6, false, 2000});
}

INSTANTIATE_TEST_SUITE_P(Host, LateAdditions, ::testing::Values("host:2", "host:4"), machine_label);

TEST(ChosenReductions, AreThoseOfTheVariable) {
  const auto with = [](const char* value) {
    ::setenv("DUET_REDUCTIONS", value, 1);
    const Reductions chosen = chosen_reductions();
    ::unsetenv("DUET_REDUCTIONS");
    return chosen;
  };
  EXPECT_EQ(chosen_reductions(), Reductions::automatic);
  EXPECT_EQ(with(""), Reductions::automatic);
  EXPECT_EQ(with("auto"), Reductions::automatic);
  EXPECT_EQ(with("slots"), Reductions::slots);
  EXPECT_EQ(with("in-flight"), Reductions::in_flight);
  EXPECT_THROW(with("in flight"), UsageError);
  ::unsetenv("DUET_REDUCTIONS");
}

// `dma` on these ranks, by default.
std::string algorithm_of(const char* name, CollectiveKind kind, std::uint64_t count,
                         bool shares = false) {
  const auto machine = open_machine(name);
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  std::string algorithm;
  team.each([&](Rank& rank) {
    std::optional<SharedStaging> sharing;
    if (shares) sharing.emplace(*session, rank);
    const Calls calls(rank, plans_of(*session), collective_of(kind, count), 1);
    if (rank.index == 0) algorithm = calls.plan().algorithm();
    rank.team.barrier("all ranks to have planned");
  });
  return algorithm;
}

// Where figures of it are better than through slots.
TEST(DmaReductions, AreAddedInFlightByDefaultByTwoRanks) {
  const auto in_flight = [](const std::string& text) {
    return text.find("added where parts arrive") != std::string::npos;
  };
  const CollectiveKind scatter = CollectiveKind::reduce_scatter, all = CollectiveKind::all_reduce;
  EXPECT_TRUE(in_flight(algorithm_of("sim:h200:devices=2", scatter, 1000)));
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200:devices=2", all, 1000)));
  EXPECT_TRUE(in_flight(algorithm_of("sim:h200:devices=2", scatter, (16 << 20) - 4)));
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200:devices=2", scatter, 16 << 20)));
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200:devices=2", all, 128 << 20)));
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200-4", scatter, 1000)));
  EXPECT_FALSE(in_flight(algorithm_of("host:2", scatter, 1000)));
  ::setenv("DUET_REDUCTIONS", "in-flight", 1);
  EXPECT_TRUE(in_flight(algorithm_of("sim:h200-4", scatter, 1000)));
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200-4", all, (16 << 20) - 1)));
  EXPECT_TRUE(in_flight(algorithm_of("sim:h200-4", all, 16 << 20)));
  EXPECT_TRUE(in_flight(algorithm_of("sim:h200:devices=2", scatter, 1000, /*shares=*/true)));
  ::setenv("DUET_REDUCTIONS", "slots", 1);
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200:devices=2", scatter, 1000)));
  ::unsetenv("DUET_REDUCTIONS");
  EXPECT_FALSE(in_flight(algorithm_of("sim:h200:devices=2", scatter, 1000, /*shares=*/true)));
}

// Host devices do not add in flight: `dma` goes through slots there.
TEST(CanAdd, AsksDeviceBuffersAndType) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  team.each([&](Rank& rank) {
    const Buffer send = rank.device.allocate(8192), recv = rank.device.allocate(4096);
    const Collective sum = collective_of(CollectiveKind::reduce_scatter, 1024);
    EXPECT_FALSE(can_add(rank, sum, {send.span(), recv.span()}));
  });
}

}  // namespace
}  // namespace duet
