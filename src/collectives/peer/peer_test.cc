// What a single checked call does not show: calls one behind the other without meeting the host,
// ranks out of step, two sessions at once, ranks that disagree.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "collectives/peer/engine.h"
#include "core/error.h"
#include "core/random.h"
#include "device/graph.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;  // seconds

Collective of(CollectiveKind kind, std::uint64_t count) {
  Collective c;
  c.kind = kind;
  c.dtype = DType::int8;
  c.count = count;
  return c;
}

Fill pattern(int rank, std::uint64_t round, std::uint64_t offset = 0) {
  return {Fill::Kind::pattern, 1000 * round + static_cast<std::uint64_t>(rank), offset};
}

// A rank's calls of one plan, each with contents of its own, and what each has left.
class Calls {
 public:
  Calls(Rank& rank, CollectiveSession& session, const Collective& collective, std::size_t rounds)
      : rank_(rank),
        collective_(collective),
        send_(rank.device.allocate(send_bytes(collective, rank.index, rank.size))),
        recv_(rank.device.allocate(recv_bytes(collective, rank.index, rank.size))),
        log_(rank.device.allocate(rounds * recv_.bytes())),
        stream_(rank.device.make_stream()),
        plan_(session.plan(rank, collective, {send_.span(), recv_.span()})) {}

  void enqueue(std::size_t round) {
    stream_->fill(send_.span(), pattern(rank_.index, round));
    plan_->enqueue(*stream_);
    keep(round);
  }
  // The call alone, as a graph.
  void enqueue_captured(std::size_t round) {
    if (graph_ == nullptr) graph_ = capture(*stream_, [&] { plan_->enqueue(*stream_); });
    stream_->fill(send_.span(), pattern(rank_.index, round));
    graph_->launch(*stream_);
    keep(round);
  }
  void delay(std::uint64_t microseconds) {
    stream_->run({"delay", {}, [microseconds] {
                    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
                  }});
  }
  void synchronize() { stream_->synchronize(kDeadline); }

  void check(std::size_t round) const {
    for (const Move& move : moves(collective_, rank_.size)) {
      if (move.to != rank_.index) continue;
      const Span got = log_.slice(round * recv_.bytes() + move.to_offset, move.bytes);
      const auto difference = rank_.device.check(got, pattern(move.from, round, move.from_offset));
      ASSERT_FALSE(difference.has_value()) << "round " << round << " from rank " << move.from;
    }
  }

 private:
  void keep(std::size_t round) {
    stream_->copy(
        {log_.slice(round * recv_.bytes(), recv_.bytes()), recv_.span(), Executor::dma, {}});
  }

  Rank& rank_;
  Collective collective_;
  Buffer send_, recv_, log_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CollectivePlan> plan_;
  std::unique_ptr<Graph> graph_;
};

class Dma : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  std::unique_ptr<CollectiveEngine> engine_ = make_dma_collectives();
};

TEST_P(Dma, AThousandCallsInARowEachLeaveTheirOwn) {
  constexpr std::size_t kRounds = 1000;
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
    const auto session = engine_->open(team_);
    team_.each([&](Rank& rank) {
      Calls calls(rank, *session, of(kind, 37), kRounds);
      for (std::size_t round = 0; round < kRounds; ++round) calls.enqueue(round);
      calls.synchronize();
      for (std::size_t round = 0; round < kRounds; ++round) calls.check(round);
      team_.barrier("all ranks to have checked");
    });
  }
}

// Of every engine; calls between the launches are beside the graph and not of it.
TEST_P(Dma, AHundredLaunchesOfAGraphEachLeaveTheirOwn) {
  constexpr std::size_t kRounds = 100;
  for (const auto make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto session = make()->open(team_);
    team_.each([&](Rank& rank) {
      Calls calls(rank, *session, of(CollectiveKind::all_to_all, 1001), kRounds);
      for (std::size_t round = 0; round < kRounds; ++round) {
        round % 10 == 3 ? calls.enqueue(round) : calls.enqueue_captured(round);
      }
      calls.synchronize();
      for (std::size_t round = 0; round < kRounds; ++round) calls.check(round);
      team_.barrier("all ranks to have checked");
    });
  }
}

TEST_P(Dma, TwoSessionsRunBesideEachOther) {
  constexpr std::size_t kRounds = 100;
  const auto first = engine_->open(team_), second = engine_->open(team_);
  team_.each([&](Rank& rank) {
    Calls one(rank, *first, of(CollectiveKind::all_gather, 1001), kRounds);
    Calls other(rank, *second, of(CollectiveKind::all_to_all, 333), kRounds);
    for (std::size_t round = 0; round < kRounds; ++round) {
      // Not in the same order on all ranks: sessions do not wait for each other.
      Calls& now = rank.index % 2 == 0 ? one : other;
      Calls& then = rank.index % 2 == 0 ? other : one;
      now.enqueue(round);
      then.enqueue(round);
    }
    one.synchronize();
    other.synchronize();
    for (std::size_t round = 0; round < kRounds; ++round) {
      one.check(round);
      other.check(round);
    }
    team_.barrier("all ranks to have checked");
  });
}

TEST_P(Dma, RanksThatDisagreeAreToldWhoWantsWhat) {
  const auto session = engine_->open(team_);
  try {
    team_.each([&](Rank& rank) {
      const std::uint64_t count = rank.index == 1 ? 8 : 4;
      Calls(rank, *session, of(CollectiveKind::all_gather, count), 1);
    });
    FAIL() << "expected a BadArgument";
  } catch (const BadArgument& error) {
    EXPECT_STREQ(error.what(),
                 "ranks ask for different things: rank 0 for all_gather of 4 x int8, sum, root 0, "
                 "counts [], rank 1 for all_gather of 8 x int8, sum, root 0, counts []");
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Dma, ::testing::Values("host:4", "sim:h200-4", "sim:mi300x-8"),
                         [](const auto& machine) {
                           return machine.index == 0   ? "host"
                                  : machine.index == 1 ? "sim_switch"
                                                       : "sim_mesh";
                         });

TEST(DmaDelays, RanksOutOfStepLeaveTheSame) {
  constexpr std::size_t kRounds = 60;
  const auto machine = open_machine("host:4");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  team.each([&](Rank& rank) {
    Calls calls(rank, *session, of(CollectiveKind::all_to_all, 5000), kRounds);
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::uint64_t dice = random_word(static_cast<std::uint64_t>(rank.index), round);
      calls.delay(dice % 500);
      calls.enqueue(round);
    }
    calls.synchronize();
    for (std::size_t round = 0; round < kRounds; ++round) calls.check(round);
    team.barrier("all ranks to have checked");
  });
}

}  // namespace
}  // namespace duet
