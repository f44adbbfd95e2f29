// Reductions through slots: many pieces, calls one behind the other, ranks out of step, parts that
// are empty.
#include "collectives/peer/reduce_plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "collectives/peer/engine.h"
#include "collectives/peer/spread_plan.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;  // seconds

Collective of(CollectiveKind kind, std::uint64_t count) {
  Collective c;
  c.kind = kind;
  c.dtype = DType::int32;
  c.count = count;
  return c;
}

// Calls in a row, each with contents of its own.
class Rounds {
 public:
  Rounds(Rank& rank, CollectiveSession& session, const Collective& collective, std::size_t rounds)
      : rank_(rank),
        send_(rank.device.allocate(send_bytes(collective, rank.index, rank.size))),
        recv_(rank.device.allocate(recv_bytes(collective, rank.index, rank.size))),
        log_(rank.device.allocate(rounds * recv_.bytes())),
        stream_(rank.device.make_stream()),
        plan_(session.plan(rank, collective, {send_.span(), recv_.span()})) {
    const bool scattered = collective.kind == CollectiveKind::reduce_scatter;
    offset_ = scattered ? recv_.bytes() * static_cast<std::uint64_t>(rank.index) : 0;
  }

  void enqueue(std::size_t round) {
    Fill fill{Fill::Kind::digits, seed(round) + static_cast<std::uint64_t>(rank_.index)};
    fill.dtype = DType::int32;
    fill.ranks = rank_.size;
    stream_->fill(send_.span(), fill);
    plan_->enqueue(*stream_);
    stream_->copy(
        {log_.slice(round * recv_.bytes(), recv_.bytes()), recv_.span(), Executor::dma, {}});
  }

  void delay(std::uint64_t microseconds) {
    stream_->run({"delay", {}, [microseconds] {
                    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
                  }});
  }

  void check(std::size_t rounds) {
    stream_->synchronize(kDeadline);
    for (std::size_t round = 0; round < rounds; ++round) {
      Fill fill{Fill::Kind::digits_reduced, seed(round), offset_};
      fill.dtype = DType::int32;
      fill.ranks = rank_.size;
      const Span kept = log_.slice(round * recv_.bytes(), recv_.bytes());
      const auto difference = rank_.device.check(kept, fill);
      ASSERT_FALSE(difference.has_value())
          << "round " << round << " from " << difference->first_offset;
    }
  }

 private:
  static std::uint64_t seed(std::size_t round) { return 100 * round; }

  Rank& rank_;
  Buffer send_, recv_, log_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CollectivePlan> plan_;
  std::uint64_t offset_ = 0;  // bytes
};

// An all_reduce through slots at any size, where `dma` takes another way for small ones.
class Slots : public CollectiveSession {
 public:
  explicit Slots(Team& team) : watchdog_(team) {
    for (int local = 0; local < team.local_size(); ++local) {
      lanes_.push_back(std::make_unique<Lanes>(team.local_rank(local).device, CopyLanes{2, true}));
    }
  }
  std::optional<Skipped> unsupported(const Collective&, bool) const override {
    return std::nullopt;
  }
  std::unique_ptr<CollectivePlan> plan(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers) override {
    Lanes& lanes = *lanes_[static_cast<std::size_t>(rank.local)];
    auto first = std::make_unique<ReducePlan>(rank, collective, buffers, lanes, watchdog_);
    if (collective.kind == CollectiveKind::reduce_scatter) return first;
    return std::make_unique<SpreadPlan>(rank, collective, buffers, lanes, watchdog_,
                                        std::move(first));
  }

 private:
  Watchdog watchdog_;
  std::vector<std::unique_ptr<Lanes>> lanes_;
};

class Reductions : public ::testing::TestWithParam<const char*> {
 protected:
  void run(const Collective& collective, std::size_t rounds, bool delayed = false) {
    run_in(*make_dma_collectives()->open(team_), collective, rounds, delayed);
    Slots slots(team_);
    run_in(slots, collective, rounds, delayed);
  }

  void run_in(CollectiveSession& session, const Collective& collective, std::size_t rounds,
              bool delayed) {
    team_.each([&](Rank& rank) {
      Rounds calls(rank, session, collective, rounds);
      for (std::size_t round = 0; round < rounds; ++round) {
        const std::uint64_t dice = random_word(static_cast<std::uint64_t>(rank.index), round);
        if (delayed) calls.delay(dice % 2000);
        calls.enqueue(round);
      }
      calls.check(rounds);
      team_.barrier("all ranks to have checked");
    });
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Reductions, OfManyPiecesInARow) {
  // As large as a simulated machine keeps the contents of.
  const auto ranks = static_cast<std::uint64_t>(team_.size());
  run(of(CollectiveKind::reduce_scatter, 4000003 / ranks), 4);
  run(of(CollectiveKind::all_reduce, 2000003), 2);
}

TEST_P(Reductions, OfFewElementsAThousandTimes) {
  // Of 2 elements not every rank has a part, and such a rank may run ahead.
  run(of(CollectiveKind::all_reduce, 2), 1000);
  run(of(CollectiveKind::all_reduce, 37), 1000);
  run(of(CollectiveKind::reduce_scatter, 3), 1000);
}

INSTANTIATE_TEST_SUITE_P(Machines, Reductions,
                         ::testing::Values("host:3", "sim:h200-4", "sim:mi300x-8"),
                         [](const auto& machine) {
                           return machine.index == 0   ? "host"
                                  : machine.index == 1 ? "sim_switch"
                                                       : "sim_mesh";
                         });

class LateReductions : public Reductions {};

TEST_P(LateReductions, RanksOutOfStepLeaveTheSame) {
  run(of(CollectiveKind::reduce_scatter, 300007), 20, true);
  run(of(CollectiveKind::all_reduce, 600011), 10, true);
}

INSTANTIATE_TEST_SUITE_P(Host, LateReductions, ::testing::Values("host:4"));

TEST(Pieces, AreSmallAtTheEndAndLeaveNothingOut) {
  for (const std::uint64_t bytes : {1ull, 4096ull, 700000ull, 5000000ull, 1ull << 30}) {
    std::uint64_t begin = 0;
    for (const PieceOf& piece : pieces_of(bytes, 4 << 20)) {
      EXPECT_EQ(piece.begin, begin);
      EXPECT_LE(piece.bytes, 4u << 20);
      begin += piece.bytes;
    }
    EXPECT_EQ(begin, bytes);
  }
  EXPECT_TRUE(pieces_of(0, 4 << 20).empty());
  EXPECT_EQ(pieces_of(64 << 20, 4 << 20).back().bytes, 1u << 20);
  EXPECT_EQ(pieces_of(3 << 20, 4 << 20).size(), 3u);
}

}  // namespace
}  // namespace duet
