// Every engine agrees with the serial solver to the bit, whatever the ranks, sizes and axes, and
// whichever rank is late.
#include <gtest/gtest.h>

#include <array>

#include "collectives/engine.h"
#include "collectives/nodes/looking_wire_fixture.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/schedule_plan.h"
#include "core/error.h"
#include "core/label_fixture.h"
#include "halo/exchange_fixture.h"
#include "halo/exchange_session.h"
#include "halo/halo_work.h"
#include "halo/verification.h"
#include "timing/prepared.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

struct Opened {
  Opened(const std::string& machine_name, const std::string& engine_name)
      : machine(open_machine(machine_name)), team(*machine) {
    HaloEngine* const engine = halo_engines(*machine, {engine_name}).front();
    session = engine->open(team);
    gathers = engines_named(*machine, {engine->gathers_by()}).front()->open(team);
  }
  // Measures and verifies.
  Sampling measure(const HaloSettings& settings) {
    HaloWork work(team, *session, gathers.get(), settings);
    return Sampler(team).measure(work, short_loop(1));
  }

  std::unique_ptr<Machine> machine;
  Team team;
  std::unique_ptr<CollectiveSession> gathers;
  std::unique_ptr<HaloSession> session;
};

struct Where {
  const char* machine;
  const char* engine;
};

class HaloExchange : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    try {
      open_machine(GetParam().machine);
    } catch (const UsageError& error) {
      GTEST_SKIP() << "skipped: " << error.what();
    }
  }
};

// Odd widths and heights, one row a rank, and one column that is not fixed.
TEST_P(HaloExchange, IsExactInEveryNormAndOverlap) {
  Opened opened(GetParam().machine, GetParam().engine);
  const int ranks = opened.team.size();
  const HaloGrid grids[] = {{3, ranks, ranks}, {37, 2 * ranks + 1, ranks}, {64, 5 * ranks, ranks}};
  for (const HaloGrid& grid : grids) {
    for (const NormMode norm : all_norms()) {
      for (const bool overlap : {false, true}) {
        const HaloSettings settings = settings_of(grid, overlap, norm, false);
        if (opened.session->unsupported(settings.task)) continue;
        const Sampling sampling = opened.measure(settings);
        EXPECT_TRUE(sampling.verified)
            << grid.nx << " x " << grid.ny << " norm " << name(norm) << " overlap " << overlap;
      }
    }
  }
}

TEST_P(HaloExchange, IsExactInAGraph) {
  Opened opened(GetParam().machine, GetParam().engine);
  if (opened.session->uncapturable()) GTEST_SKIP() << "skipped: its calls cannot be captured";
  const int ranks = opened.team.size();
  for (const NormMode norm : {NormMode::none, NormMode::device, NormMode::delayed}) {
    EXPECT_TRUE(opened.measure(settings_of({33, 3 * ranks, ranks}, true, norm, true)).verified);
  }
}

// Of algorithms that know of no compute and ask before they write.
TEST(HaloExchangeByChoice, IsExactByOtherAlgorithms) {
  for (const char* algorithm : {"direct-pushes", "staged-moves"}) {
    setenv("DUET_ALGORITHM", algorithm, 1);
    for (const int ranks : {1, 2, 3}) {
      Opened opened("host:" + std::to_string(ranks), "dma");
      for (const bool overlap : {false, true}) {
        const HaloSettings settings =
            settings_of({37, 4 * ranks, ranks}, overlap, NormMode::device, false);
        EXPECT_TRUE(opened.measure(settings).verified) << algorithm << ", " << ranks << " ranks";
      }
    }
    unsetenv("DUET_ALGORITHM");
  }
}

// Rows whose way to the neighbours takes longer than a sweep: whoever did not wait for them would
// read the halo of an earlier iteration.
TEST(HaloTiming, WaitsForRowsThatTakeLongerThanASweep) {
  for (const char* engine : {"dma", "kernel"}) {
    for (const bool overlap : {false, true}) {
      Opened opened("sim:mi300x:devices=2", engine);
      const HaloSettings settings = settings_of({200000, 2, 2}, overlap, NormMode::none, false);
      EXPECT_TRUE(opened.measure(settings).verified) << engine << " overlap " << overlap;
    }
  }
}

// 600 iterations push 600 rows to each neighbour: behind a closed start gate a full queue would
// never empty.
TEST(HaloTiming, SamplesMayBeLongerThanAStreamsQueue) {
  for (const char* engine : {"dma", "kernel"}) {
    Opened opened("host:2:queue=500", engine);
    HaloSettings settings = settings_of({8, 4, 2}, true, NormMode::none, false);
    settings.iterations = 600;
    EXPECT_TRUE(opened.measure(settings).verified) << engine;
  }
}

// Launches of graphs fill it as well: one of 600 iterations, and 64 of 10.
TEST(HaloTiming, GraphsMayBeMoreThanAStreamsQueueTakes) {
  for (const char* engine : {"dma", "kernel"}) {
    for (const auto& [iterations, launches] : {std::pair(600, 1), std::pair(10, 64)}) {
      Opened opened("host:2:queue=500", engine);
      HaloSettings settings = settings_of({8, 4, 2}, true, NormMode::none, true);
      settings.iterations = iterations;
      HaloWork work(opened.team, *opened.session, opened.gathers.get(), settings);
      Mode mode = short_loop(1);
      mode.iterations = launches;
      EXPECT_TRUE(Sampler(opened.team).measure(work, mode).verified) << engine << " " << iterations;
    }
  }
}

// The calls that verification makes, on streams that no start gate holds: tools that let one launch
// end before the next begins can run it.
TEST_P(HaloExchange, IsExactWithoutAGate) {
  Opened opened(GetParam().machine, GetParam().engine);
  const int ranks = opened.team.size();
  const auto grids = {std::pair(37, false), std::pair(64, false), std::pair(64, true)};
  for (const auto& [nx, overlap] : grids) {
    const HaloSettings settings =
        settings_of({nx, 40 * ranks, ranks}, overlap, NormMode::device, false);
    if (opened.session->unsupported(settings.task)) continue;
    HaloWork work(opened.team, *opened.session, opened.gathers.get(), settings);
    const Prepared prepared(opened.team, work, {});
    opened.team.each([&](Rank& rank) {
      const auto stream = rank.device.make_stream();
      work.enqueue(rank, *stream);
      stream->synchronize(kHaloDeadline);
    });
    EXPECT_EQ(verify(opened.team, work), "");
  }
}

// Grids that are checked by windows and by their last iteration, and kernels with many blocks.
class HaloLargeGrid : public HaloExchange {};

TEST_P(HaloLargeGrid, IsExact) {
  Opened opened(GetParam().machine, GetParam().engine);
  const int ranks = opened.team.size();
  for (const std::int64_t nx : {4096, 4099}) {
    for (const bool overlap : {false, true}) {
      const HaloSettings settings =
          settings_of({nx, 4000 + ranks / 2, ranks}, overlap, NormMode::delayed, overlap);
      EXPECT_TRUE(opened.measure(settings).verified) << nx << " columns";
    }
  }
}

// A grid for each rank by itself, all at once.
TEST_P(HaloExchange, IsExactAlone) {
  Opened opened(GetParam().machine, GetParam().engine);
  for (const bool overlap : {false, true}) {
    const HaloSettings settings = settings_of({40, 6, 1}, overlap, NormMode::device, false);
    if (opened.session->unsupported(settings.task)) continue;
    EXPECT_TRUE(opened.measure(settings).verified) << "overlap " << overlap;
  }
}

std::string label(const ::testing::TestParamInfo<Where>& where) {
  return test_label(std::string(where.param.engine) + "_" + where.param.machine);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, HaloExchange,
    ::testing::Values(Where{"host:1", "host"}, Where{"host:2", "host"}, Where{"host:5", "host"},
                      Where{"host:1", "dma"}, Where{"host:2", "dma"}, Where{"host:3", "dma"},
                      Where{"host:8", "dma"}, Where{"host:1", "kernel"}, Where{"host:2", "kernel"},
                      Where{"host:5", "kernel"}, Where{"sim:h200-4", "dma"},
                      Where{"sim:h200-4", "kernel"}, Where{"sim:mi300x-8", "kernel"},
                      Where{"sim:p5-48xlarge:nodes=2", "dma"},
                      Where{"sim:p5-48xlarge:nodes=2", "kernel"}),
    label);

// Of the test halo_gpu; elsewhere skipped.
const auto kGpus = ::testing::Values(Where{"cuda", "dma"}, Where{"cuda", "kernel"});
INSTANTIATE_TEST_SUITE_P(Gpus, HaloExchange, kGpus, label);
INSTANTIATE_TEST_SUITE_P(Gpus, HaloLargeGrid, kGpus, label);

// Over nodes an iteration of few rows takes one latency of the network, 15 us, however many there
// are: neighbours are at most one node away.
TEST(HaloTiming, OverNodesTheNetworkIsTheFloor) {
  for (const char* engine : {"dma", "kernel"}) {
    const auto seconds = [&](const std::string& machine) {
      Opened opened(machine, engine);
      const int ranks = opened.team.size();
      return opened.measure(settings_of({256, 2 * ranks, ranks}, true, NormMode::none, false))
          .samples.front();
    };
    const double one = seconds("sim:p5-48xlarge:nodes=1"),
                 sixteen = seconds("sim:p5-48xlarge:nodes=16");
    EXPECT_GT(sixteen, one + 13e-6) << engine;
    EXPECT_LT(sixteen, one + 17e-6) << engine;
  }
}

TEST(HaloTiming, WaitsForASlowRank) {
  for (const char* engine : {"host", "dma", "kernel"}) {
    Opened opened("host:3", engine);
    iterate_with_a_slow_rank(opened.team, *opened.session, 1);
  }
}

// The exchange that goes over rails, on a map of its own and with copies in their place.
class NodesExchanges : public CollectiveSession {
 public:
  NodesExchanges(Team& team, NodeMap map, Executor executor)
      : map_(std::move(map)), executor_(executor), teams_(team, map_), watchdog_(team) {
    for (int rank = 0; rank < team.local_size(); ++rank) {
      lanes_.push_back(std::make_unique<SideStreams>(team.local_rank(rank).device, CopyLanes{}));
    }
  }
  std::optional<Skipped> unsupported(const Collective&, bool) const override {
    return std::nullopt;
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    NodeRank own(rank, teams_, map_);
    own.in_node.team.free_retired(own.in_node);
    AlgorithmInput input{collective, rank.index, rank.size, {}};
    input.nodes = &map_;
    input.kernel_moves = executor_ == Executor::kernel;
    input.in_place = true;
    ScheduleSession with{watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()};
    with.node = &own;
    with.make_wire = [this](NodeRank& of, const WireTraffic& traffic) {
      return std::make_unique<LookingWire>(of, traffic, watchdog_);
    };
    return std::make_unique<SchedulePlan>(rank, nodes_neighbors().schedule(input), buffers, with);
  }

 private:
  NodeMap map_;
  Executor executor_;
  NodeTeams teams_;
  Watchdog watchdog_;
  std::vector<std::unique_ptr<SideStreams>> lanes_;  // by local rank
};

ExchangeSession over_nodes(Team& team, NodeMap map, Executor executor) {
  return {team, std::make_unique<NodesExchanges>(team, std::move(map), executor)};
}

struct HaloNodes {
  int ranks, node_size;
  bool dealt;  // to the nodes in turns
};

class HaloOverNodes : public ::testing::TestWithParam<HaloNodes> {
 protected:
  NodeMap map() {
    const HaloNodes& p = GetParam();
    TeamGroups nodes(static_cast<std::size_t>(p.ranks / p.node_size));
    for (int rank = 0; rank < p.ranks; ++rank) {
      const int node = p.dealt ? rank % static_cast<int>(nodes.size()) : rank / p.node_size;
      nodes[static_cast<std::size_t>(node)].push_back(rank);
    }
    return NodeMap(std::move(nodes));
  }

  std::unique_ptr<Machine> machine_ = open_machine("host:" + std::to_string(GetParam().ranks));
  Team team_{*machine_};
};

TEST_P(HaloOverNodes, IsExact) {
  const int ranks = team_.size();
  const HaloGrid grids[] = {
      {3, ranks, ranks}, {37, 2 * ranks + 1, ranks}, {64, 5 * ranks, ranks}, {40, 6, 1}};
  for (const Executor executor : {Executor::dma, Executor::kernel}) {
    ExchangeSession session = over_nodes(team_, map(), executor);
    for (const HaloGrid& grid : grids) {
      for (const bool overlap : {false, true}) {
        HaloWork work(team_, session, nullptr, settings_of(grid, overlap, NormMode::none, overlap));
        EXPECT_TRUE(Sampler(team_).measure(work, short_loop(1)).verified)
            << grid.nx << " x " << grid.ny << " by " << name(executor);
      }
    }
  }
}

// Whoever did not wait for slots, or for rows of other nodes, would use those of earlier
// iterations.
TEST_P(HaloOverNodes, WaitsForASlowRank) {
  for (const Executor executor : {Executor::dma, Executor::kernel}) {
    ExchangeSession session = over_nodes(team_, map(), executor);
    for (const int slow : {0, 1}) iterate_with_a_slow_rank(team_, session, slow);
  }
}

INSTANTIATE_TEST_SUITE_P(Maps, HaloOverNodes,
                         ::testing::Values(HaloNodes{2, 1, false}, HaloNodes{3, 1, false},
                                           HaloNodes{4, 2, false}, HaloNodes{4, 2, true},
                                           HaloNodes{6, 3, false}, HaloNodes{6, 2, true}),
                         [](const auto& nodes) {
                           return std::to_string(nodes.param.ranks) + "_by_" +
                                  std::to_string(nodes.param.node_size) +
                                  (nodes.param.dealt ? "_dealt" : "");
                         });

// Grids of which the CPU computes windows and the last iteration alone.
TEST(HaloVerification, LargeGridsAreCheckedByWindows) {
  Opened opened("host:2", "dma");
  for (const HaloGrid& grid : {HaloGrid{1024, 1024, 2}, HaloGrid{2048, 2100, 2}}) {
    EXPECT_TRUE(opened.measure(settings_of(grid, true, NormMode::device, false)).verified);
  }
}

// One bit of one point of a rank's last values, flipped. Flipping it again mends it.
void flip(const Rank& rank, const HaloPlan& plan, std::int64_t row, std::int64_t column) {
  const Span point = row_at(plan.field(0), plan.shape(), row)
                         .slice(static_cast<std::size_t>(column) * sizeof(float), sizeof(float));
  std::uint32_t bits = 0;
  rank.device.read(point, &bits);
  bits ^= 1;
  rank.device.write(point, &bits);
}

// One wrong point in a field, or in a halo, is found.
class HaloDamage : public ::testing::TestWithParam<HaloGrid> {};

TEST_P(HaloDamage, IsFound) {
  const HaloTask task{GetParam(), false};
  Opened opened("host:2", "dma");
  std::vector<std::unique_ptr<HaloPlan>> plans(2);
  const auto plan_of = [&](const Rank& rank) -> HaloPlan& {
    return *plans[static_cast<std::size_t>(rank.index)];
  };
  opened.team.each([&](Rank& rank) {
    plans[static_cast<std::size_t>(rank.index)] = opened.session->plan(rank, task);
    iterate_from(rank, task, plan_of(rank), [](Stream&) {});
  });
  const auto check = [&] {
    opened.team.each([&](Rank& rank) {
      check_result(rank, {task.grid, kPlainIterations, kPlainSeed, plan_of(rank), {}});
    });
  };
  EXPECT_NO_THROW(check());
  const FieldShape shape = plans[1]->shape();
  const std::int64_t middle = shape.nx / 2;
  const std::array<std::int64_t, 2> places[] = {{0, middle},  // the halo above
                                                {1, middle},
                                                {2, middle},  // the first row, the interior
                                                {shape.rows, middle},  // the last row
                                                {shape.rows + 1, 0},   // the halo below
                                                {2, 0},
                                                {2, shape.nx - 1}};  // the fixed columns
  for (const auto& [row, column] : places) {
    for (const int damaged : {0, 1}) {
      const auto flip_it = [&, row = row, column = column] {
        opened.team.each([&](Rank& rank) {
          if (rank.index == damaged) flip(rank, plan_of(rank), row, column);
        });
      };
      flip_it();
      EXPECT_THROW(check(), Mismatch) << "rank " << damaged << ", row " << row << ", " << column;
      flip_it();
    }
  }
  EXPECT_NO_THROW(check());
  opened.team.each([&](Rank& rank) { plans[static_cast<std::size_t>(rank.index)].reset(); });
}

INSTANTIATE_TEST_SUITE_P(Grids, HaloDamage,
                         ::testing::Values(HaloGrid{16, 8, 2}, HaloGrid{2048, 2100, 2}));

TEST(HaloWorkTest, RefusesAnOddNumberOfIterations) {
  Opened opened("host:2", "dma");
  HaloSettings settings = settings_of({16, 8, 2}, false, NormMode::none, false);
  settings.iterations = 3;
  EXPECT_THROW(HaloWork(opened.team, *opened.session, nullptr, settings), BadArgument);
}

}  // namespace
}  // namespace duet
