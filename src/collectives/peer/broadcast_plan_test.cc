// Broadcasts as a pipeline: any cut and root, calls one behind the other, ranks out of step.
#include "collectives/peer/broadcast_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "collectives/peer/engine.h"
#include "core/random.h"
#include "device/graph.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;  // seconds

std::vector<PieceOf> cut(std::uint64_t bytes, std::uint64_t each) {
  std::vector<PieceOf> pieces;
  for (std::uint64_t begin = 0; begin < bytes; begin += each) {
    pieces.push_back({begin, std::min(each, bytes - begin)});
  }
  return pieces;
}

struct Setting {
  std::uint64_t bytes = 0;
  std::uint64_t piece = 1;  // bytes of each
  int root = 0;
  bool in_place = false;
};

// Calls in a row, every third by a graph, each with contents of its own, and what each has left.
class Rounds {
 public:
  Rounds(Rank& rank, Lanes& lanes, Watchdog& watchdog, const Setting& setting, std::size_t rounds)
      : bytes_(setting.bytes),
        device_(rank.device),
        send_(rank.device.allocate(bytes_)),
        recv_(rank.device.allocate(bytes_)),
        log_(rank.device.allocate(rounds * bytes_)),
        source_(setting.in_place ? recv_.span() : send_.span()),
        stream_(rank.device.make_stream()) {
    Collective collective;
    collective.kind = CollectiveKind::broadcast;
    collective.dtype = DType::int8;
    collective.count = bytes_;
    collective.root = setting.root;
    plan_ =
        std::make_unique<BroadcastPlan>(rank, collective, CollectiveBuffers{source_, recv_.span()},
                                        lanes, watchdog, cut(bytes_, setting.piece));
    is_root_ = rank.index == setting.root;
  }

  void enqueue(std::size_t round) {
    // What is not the root's must not last.
    const std::uint64_t seed = is_root_ ? round : 1000000 + round;
    stream_->fill(is_root_ ? source_ : recv_.span(), {Fill::Kind::pattern, seed});
    enqueue_call(round % 3 == 2);
    stream_->copy({log_.slice(round * bytes_, bytes_), recv_.span(), Executor::dma, {}});
  }

  void delay(std::uint64_t microseconds) {
    stream_->run({"delay", {}, [microseconds] {
                    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
                  }});
  }

  void check(std::size_t rounds) {
    stream_->synchronize(kDeadline);
    for (std::size_t round = 0; round < rounds; ++round) {
      const Span kept = log_.slice(round * bytes_, bytes_);
      const auto difference = device_.check(kept, {Fill::Kind::pattern, round});
      ASSERT_FALSE(difference.has_value())
          << "round " << round << " from " << difference->first_offset;
    }
  }

 private:
  void enqueue_call(bool captured) {
    if (!captured) return plan_->enqueue(*stream_);
    if (graph_ == nullptr) graph_ = capture(*stream_, [&] { plan_->enqueue(*stream_); });
    graph_->launch(*stream_);
  }

  std::uint64_t bytes_;
  Device& device_;
  Buffer send_, recv_, log_;
  Span source_;
  bool is_root_ = false;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CollectivePlan> plan_;
  std::unique_ptr<Graph> graph_;
};

class Broadcasts : public ::testing::TestWithParam<const char*> {
 protected:
  // With one link for all peers and with one for each, whatever the machine has.
  void run(const Setting& setting, std::size_t rounds, bool delayed = false) {
    for (const CopyLanes copying : {CopyLanes{2, true}, CopyLanes{team_.size() - 1, false}}) {
      Watchdog watchdog(team_);
      team_.each([&](Rank& rank) {
        Lanes lanes(rank.device, copying);
        Rounds calls(rank, lanes, watchdog, setting, rounds);
        for (std::size_t round = 0; round < rounds; ++round) {
          const std::uint64_t dice = random_word(static_cast<std::uint64_t>(rank.index), round);
          if (delayed) calls.delay(dice % 2000);
          calls.enqueue(round);
        }
        calls.check(rounds);
        team_.barrier("all ranks to have checked");
      });
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
};

TEST_P(Broadcasts, OfManyPiecesInARow) {
  run({4000003, 100003, 0}, 4);
  run({1000003, 30011, 1, true}, 4);
}

TEST_P(Broadcasts, OfAFewBytesAThousandTimes) {
  // Of 1 and of 2 pieces not every rank has one.
  run({1, 1, 0}, 1000);
  run({2, 1, 1, true}, 1000);
  run({37, 5, team_.size() - 1}, 1000);
}

TEST_P(Broadcasts, OfNothing) { run({0, 1, 1}, 3); }

// Large enough for the cut of the engine.
TEST_P(Broadcasts, ByTheEngine) {
  const auto session = make_dma_collectives()->open(team_);
  Collective collective;
  collective.kind = CollectiveKind::broadcast;
  collective.count = (15 << 18) + 1;
  collective.root = 2;
  team_.each([&](Rank& rank) {
    Buffer send = rank.device.allocate(4 * collective.count);
    Buffer recv = rank.device.allocate(4 * collective.count);
    const auto plan = session->plan(rank, collective, {send.span(), recv.span()});
    EXPECT_NE(plan->algorithm().find("passed on"), std::string::npos) << plan->algorithm();
    const auto stream = rank.device.make_stream();
    const std::uint64_t seed = rank.index == collective.root ? 5 : 6;
    stream->fill(send.span(), {Fill::Kind::pattern, seed});
    plan->enqueue(*stream);
    stream->synchronize(kDeadline);
    EXPECT_FALSE(rank.device.check(recv.span(), {Fill::Kind::pattern, 5}).has_value());
    team_.barrier("all ranks to have checked");
  });
}

INSTANTIATE_TEST_SUITE_P(Machines, Broadcasts,
                         ::testing::Values("host:3", "host:8", "sim:h200-4", "sim:mi300x-8"),
                         [](const auto& machine) {
                           std::string text = machine.param;
                           for (char& c : text) c = c == ':' || c == '-' ? '_' : c;
                           return text;
                         });

class LateBroadcasts : public Broadcasts {};

TEST_P(LateBroadcasts, RanksOutOfStepLeaveTheSame) {
  run({300007, 20011, 1}, 20, true);
  run({1000, 100, 2, true}, 40, true);
}

INSTANTIATE_TEST_SUITE_P(Host, LateBroadcasts, ::testing::Values("host:3", "host:4"));

}  // namespace
}  // namespace duet
