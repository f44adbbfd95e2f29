// Plans over several nodes: every engine, in and out of place, messages cut in many ways, ranks out
// of step, captured calls, and nodes whose ranks are not consecutive.
#include <gtest/gtest.h>

#include <cstdio>

#include "collectives/collective_work.h"
#include "collectives/engine.h"
#include "collectives/nodes/looking_wire_fixture.h"
#include "collectives/nodes/mapped_wire.h"
#include "collectives/own_sessions.h"
#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/schedule_plan.h"
#include "collectives/session/calls_fixture.h"
#include "collectives/session/peer_semaphores.h"
#include "collectives/uneven_counts_fixture.h"
#include "core/label_fixture.h"
#include "timing/prepared.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

struct Cluster {
  const char* device;
  int node_size;  // of Team::node_size()
};

std::string cluster_label(const ::testing::TestParamInfo<Cluster>& cluster) {
  std::string text = cluster.param.device;
  if (cluster.param.node_size > 0) text += "_by_" + std::to_string(cluster.param.node_size);
  return test_label(text);
}

const std::vector<Cluster> kClusters{{"host:2", 1},
                                     {"host:3", 1},
                                     {"host:4", 2},
                                     {"host:6", 2},
                                     {"host:6", 3},
                                     {"sim:p5-48xlarge:devices=1:nodes=2", 0},
                                     {"sim:p5-48xlarge:devices=2:nodes=4", 0},
                                     {"sim:p5-48xlarge", 0},
                                     {"sim:mi300x:devices=4:nodes=2", 0}};

constexpr CollectiveKind kKinds[] = {CollectiveKind::all_gather,   CollectiveKind::all_to_all,
                                     CollectiveKind::all_to_all_v, CollectiveKind::reduce_scatter,
                                     CollectiveKind::all_reduce,   CollectiveKind::broadcast};

class OverNodes : public ::testing::TestWithParam<Cluster> {
 protected:
  OverNodes() { team_.set_node_size(GetParam().node_size); }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam().device);
  Team team_{*machine_};
};

Collective small(const Team& team, CollectiveKind kind, DType dtype) {
  Collective c;
  c.kind = kind;
  c.dtype = dtype;
  c.count = 1003;
  if (kind == CollectiveKind::all_to_all_v) c.counts = uneven_counts(c.count, team.size());
  return c;
}

// What runs on a machine of one node runs here or has a reason.
TEST_P(OverNodes, EveryEngineIsRight) {
  for (const auto& make : {make_dma_collectives, make_kernel_collectives, make_auto_collectives}) {
    const auto engine = make();
    const auto session = engine->open(team_);
    int ran = 0;
    for (const CollectiveKind kind : all_collectives()) {
      for (const bool in_place : {false, true}) {
        if (in_place && !has_in_place(kind)) continue;
        for (const DType dtype : {DType::fp32, DType::bf16, DType::int8}) {
          if (reduces(kind) && dtype == DType::int8) continue;
          if (session->unsupported(small(team_, kind, dtype), in_place)) continue;
          SCOPED_TRACE(engine->name() + " " + std::string(name(kind)) +
                       (in_place ? " in place" : ""));
          CollectiveWork work(team_, *session, small(team_, kind, dtype), in_place);
          EXPECT_TRUE(Sampler(team_).measure(work, short_mode(3, 30)).verified);
          ++ran;
        }
      }
    }
    // all_gather, all_to_all, broadcast and neighbor_exchange; two types of both reductions; both
    // ways. all_to_all_v out of place.
    EXPECT_EQ(ran, 4 * 6 + 3 + 8);
  }
}

// Fewer elements than ranks, and parts that differ by an element.
TEST_P(OverNodes, ReducesOddCounts) {
  const auto session = make_dma_collectives()->open(team_);
  for (const std::uint64_t count : {1u, 3u, 16u, 17u, 10007u}) {
    for (const Reduction op : all_reductions()) {
      Collective c = small(team_, CollectiveKind::all_reduce, DType::bf16);
      c.count = count;
      c.op = op;
      c.dtype = op == Reduction::avg && count > 16 ? DType::int32 : DType::bf16;
      CollectiveWork work(team_, *session, c, count % 2 == 0);
      EXPECT_TRUE(Sampler(team_).measure(work, short_mode(3, 30)).verified) << count;
    }
  }
}

TEST_P(OverNodes, CapturedCallsAreRight) {
  const auto session = make_dma_collectives()->open(team_);
  for (const CollectiveKind kind : kKinds) {
    ASSERT_FALSE(session->uncapturable());
    CollectiveWork work(team_, *session, small(team_, kind, DType::bf16), false, true, {2, 3});
    EXPECT_TRUE(Sampler(team_).measure(work, short_mode(3, 30)).verified) << name(kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, OverNodes, ::testing::ValuesIn(kClusters), cluster_label);

// Alone on its node a rank sends equally many bytes in both, and nothing passes on what comes.
TEST(NodeMessages, AnAllToAllOfSingleRanksHasThoseOfAnAllGather) {
  const auto machine = open_machine("sim:p5-48xlarge:devices=1:nodes=2");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  for (const std::uint64_t bytes : {32ull << 20, 1ull << 30}) {
    const auto algorithm = [&](CollectiveKind kind) {
      Collective c = small(team, kind, DType::bf16);
      c.count = count_for(kind, c.dtype, bytes, team.size());
      CollectiveWork work(team, *session, c, false);
      const Prepared prepared(team, work, {});
      return work.algorithm();
    };
    EXPECT_EQ(algorithm(CollectiveKind::all_to_all), algorithm(CollectiveKind::all_gather));
  }
}

// Plans made directly, with messages of any size, on a map of their own.
class NodePlans : public ::testing::TestWithParam<Cluster> {
 protected:
  static constexpr CopyLanes kLanes{2, true};

  NodePlans() {
    team_.set_node_size(GetParam().node_size);
    map_ = std::make_unique<NodeMap>(NodeMap::of(team_));
    for (int local = 0; local < team_.local_size(); ++local) {
      lanes_.push_back(std::make_unique<SideStreams>(team_.local_rank(local).device, kLanes));
    }
  }

  // Ranks are dealt out to the nodes in turns.
  void deal_out_ranks() {
    TeamGroups nodes(static_cast<std::size_t>(map_->nodes()));
    for (int rank = 0; rank < team_.size(); ++rank) {
      nodes[static_cast<std::size_t>(rank % map_->nodes())].push_back(rank);
    }
    map_ = std::make_unique<NodeMap>(std::move(nodes));
  }

  // Whose wires are of this class.
  template <typename OfWire = MappedWire>
  MakePlan plans(bool kernel_moves, std::uint64_t largest) {
    teams_ = std::make_unique<NodeTeams>(team_, *map_);
    const auto wire = [this](NodeRank& rank, const WireTraffic& traffic) {
      return std::make_unique<OfWire>(rank, traffic, watchdog_);
    };
    return [=](Rank& rank, const Collective& c,
               const CollectiveBuffers& buffers) -> std::unique_ptr<CollectivePlan> {
      NodeRank own(rank, *teams_, *map_);
      AlgorithmInput input{c, rank.index, rank.size, kLanes};
      input.nodes = map_.get();
      input.kernel_moves = kernel_moves;
      input.in_place = in_place(buffers);
      input.largest_piece = largest;
      ScheduleSession session{watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()};
      session.node = &own;
      session.make_wire = wire;
      return std::make_unique<SchedulePlan>(rank, schedule_over_nodes(input), buffers, session);
    };
  }

  // Of the fixture's types: buffers above 16 MiB have no contents on a simulated machine.
  static std::uint64_t elements(CollectiveKind kind, std::uint64_t bytes) {
    return reduces(kind) ? (bytes + 3) / 4 : bytes;
  }

  template <typename OfWire = MappedWire>
  void run_all(const Rounds& rounds, std::uint64_t count, std::uint64_t largest) {
    for (const bool by_kernel : {false, true}) {
      for (const CollectiveKind kind : kKinds) {
        const int root = kind == CollectiveKind::broadcast ? team_.size() - 1 : 0;
        Collective c = collective_of(kind, elements(kind, count), root);
        if (kind == CollectiveKind::all_to_all_v) c.counts = uneven_counts(count, team_.size());
        run_calls(team_, plans<OfWire>(by_kernel, largest), c, rounds);
      }
    }
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam().device);
  Team team_{*machine_};
  std::unique_ptr<NodeMap> map_;
  std::unique_ptr<NodeTeams> teams_;
  Watchdog watchdog_{team_};
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

// One message, several, a last one of one byte, more than slots.
TEST_P(NodePlans, CutIntoMessages) {
  const std::uint64_t largest = 64 << 10;
  for (const std::uint64_t count :
       {std::uint64_t{1}, std::uint64_t{4097}, largest, largest + 1, 5 * largest + 17}) {
    run_all({2, false}, count, largest);
  }
}

// In an all_to_all_v the last rank sends nothing, and the first one gets nothing.
TEST_P(NodePlans, ARankMayHaveNothing) {
  Collective c = collective_of(CollectiveKind::all_to_all_v, 0);
  const int ranks = team_.size();
  for (int pair = 0; pair < ranks * ranks; ++pair)
    c.counts.push_back(pair / ranks == ranks - 1 || pair % ranks == 0 ? 0 : 5001);
  for (const bool by_kernel : {false, true}) run_calls(team_, plans(by_kernel, 2 << 10), c, {3});
}

TEST_P(NodePlans, OfRanksThatAreDealtOut) {
  deal_out_ranks();
  run_all({3}, 200001, 64 << 10);
}

TEST_P(NodePlans, ManyCallsInARowSomeCaptured) { run_all({60, false, 0, 3}, 37, 16); }

INSTANTIATE_TEST_SUITE_P(Clusters, NodePlans, ::testing::ValuesIn(kClusters), cluster_label);
// A rank's messages wait for pushes that it has still to enqueue, if streams take no more copies.
INSTANTIATE_TEST_SUITE_P(FullQueues, NodePlans,
                         ::testing::Values(Cluster{"host:4:queue=1", 2},
                                           Cluster{"host:6:queue=1", 2}),
                         cluster_label);

class LookingNodePlans : public NodePlans {};

// With fewer messages than slots, and more.
TEST_P(LookingNodePlans, BetweenCallsEverySemaphoreIsZero) {
  const std::uint64_t largest = 16 << 10;
  for (const std::uint64_t count : {largest, 9 * largest + 5}) {
    run_all<LookingWire>({3}, count, largest);
  }
}

INSTANTIATE_TEST_SUITE_P(Host, LookingNodePlans,
                         ::testing::ValuesIn(std::vector<Cluster>{
                             {"host:2", 1}, {"host:4", 2}, {"host:6", 2}}),
                         cluster_label);

// A wire by which a message has come only when this rank's next one may go.
class LateWire : public Wire {
 public:
  LateWire(NodeRank& rank, const WireTraffic& traffic, Watchdog& watchdog)
      : wire_(rank, traffic, watchdog), messages_(traffic.messages.size()) {
    Device& device = rank.whole.device;
    words_ = zeroed_semaphores(device, static_cast<int>(2 * messages_));
    for (Lane* lane : {&sent_, &come_}) {
      *lane = {device.make_stream(), device.make_event(EventUse::order)};
    }
    begun_ = device.make_event(EventUse::order);
  }

  const Span& region() const override { return wire_.region(); }
  Semaphore go(std::size_t i) const override { return semaphore_at(words_, i); }
  Semaphore gone(std::size_t i) const override { return wire_.gone(i); }
  Semaphore come(std::size_t i) const override { return semaphore_at(words_, messages_ + i); }
  void begin(Stream& stream) override {
    wire_.begin(stream);
    stream.record(*begun_);
    for (const Lane* lane : {&sent_, &come_}) lane->stream->wait(*begun_);
  }
  void enqueue(Stream& stream, std::size_t i) override {
    sent_.stream->handshake({{}, {go(i)}});
    sent_.stream->handshake({{wire_.go(i)}, {}});
    sent_.stream->record(*sent_.end);
    wire_.enqueue(stream, i);
    come_.stream->wait(*sent_.end);
    if (i > 0) pass_on(i - 1);
  }
  void end(Stream& stream) override {
    pass_on(messages_ - 1);
    come_.stream->record(*come_.end);
    stream.wait(*come_.end);
    wire_.end(stream);
  }
  std::string description() const override { return wire_.description(); }

 private:
  struct Lane {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> end;
  };

  void pass_on(std::size_t i) {
    come_.stream->handshake({{}, {wire_.come(i)}});
    come_.stream->handshake({{come(i)}, {}});
  }

  MappedWire wire_;
  std::size_t messages_;
  Buffer words_;  // go and come of every message
  Lane sent_, come_;
  std::unique_ptr<Event> begun_;
};

class LateNodePlans : public NodePlans {};

// So the network has the next piece to carry while one is added.
TEST_P(LateNodePlans, APieceMayGoBeforeTheOneBeforeIsAdded) {
  const std::uint64_t largest = 64 << 10, pieces = 6;
  run_calls(team_, plans<LateWire>(false, largest),
            collective_of(CollectiveKind::reduce_scatter, pieces * largest / sizeof(float)), {3});
}

TEST_P(LateNodePlans, RanksOutOfStepLeaveTheSame) {
  run_all({40, false, 500}, 5000, 4 << 10);
  run_all({8, false, 2000}, 700001, 64 << 10);
}

INSTANTIATE_TEST_SUITE_P(Host, LateNodePlans,
                         ::testing::ValuesIn(std::vector<Cluster>{{"host:4", 2}, {"host:6", 2}}),
                         cluster_label);

// Where a node has one rank, and in a small node: with many pieces little is left to add behind the
// last one that has come.
TEST(NodesSession, ReducesSmallPieces) {
  for (const int node_size : {1, 2}) {
    const auto machine = open_machine("host:" + std::to_string(2 * node_size));
    Team team(*machine);
    team.set_node_size(node_size);
    const auto session = make_dma_collectives()->open(team);
    team.each([&](Rank& rank) {
      const std::uint64_t part = 32 << 20;
      const Collective c = collective_of(CollectiveKind::reduce_scatter, part / sizeof(float));
      const Buffer send = rank.device.allocate(send_bytes(c, rank.index, rank.size));
      const Buffer recv = rank.device.allocate(part);
      const std::string algorithm = session->plan(rank, c, {send.span(), recv.span()})->algorithm();
      int messages = 0;
      ASSERT_EQ(std::sscanf(algorithm.c_str(), "between nodes %d messages", &messages), 1);
      EXPECT_GE(messages, node_size == 1 ? 8 : 5) << algorithm;
      team.barrier("all ranks to have looked");
    });
  }
}

TEST(NodesSession, UnequalNodesAreSkippedWithTheReason) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  team.set_node_size(2);
  const auto session = make_dma_collectives()->open(team);
  const auto skipped =
      session->unsupported(small(team, CollectiveKind::all_gather, DType::fp32), false);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(
      skipped->reason,
      "ranks of several nodes: node 0 has 2 ranks and node 1 has 1: expected as many on each");
}

// The hierarchy's bytes on the network: (N - 1) / N of S leave a node in an all_gather, L times
// that in an all_to_all, and of a neighbor_exchange a chunk at each end of a node.
TEST(NodePlanBytes, OnTheNetworkAreTheLeast) {
  const auto machine = open_machine("host:6");
  Team team(*machine);
  team.set_node_size(2);
  const auto session = make_dma_collectives()->open(team);
  constexpr double kCount = 1000;
  team.each([&](Rank& rank) {
    const double beyond = 2, size = 2;  // other nodes, ranks of a node
    for (const auto& [kind, chunks] : {std::pair{CollectiveKind::all_gather, beyond},
                                       {CollectiveKind::all_to_all, beyond * size},
                                       {CollectiveKind::neighbor_exchange, 1}}) {
      const Collective c = collective_of(kind, static_cast<std::uint64_t>(kCount));
      const Buffer send = rank.device.allocate(send_bytes(c, rank.index, rank.size));
      const Buffer recv = rank.device.allocate(recv_bytes(c, rank.index, rank.size));
      const auto plan = session->plan(rank, c, {send.span(), recv.span()});
      EXPECT_EQ(plan->network_bytes(), chunks * kCount) << name(kind);
      if (kind == CollectiveKind::neighbor_exchange) {
        EXPECT_EQ(plan->wire_bytes(), 2 * kCount);
      }
    }
    team.barrier("all ranks to have looked");
  });
}

}  // namespace
}  // namespace duet
