// Layers give the right sums on every kind of device, by every exchange.
#include "moe/moe_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "collectives/own_engines.h"
#include "core/error.h"
#include "core/label_fixture.h"
#include "device/machine.h"
#include "moe/cases.h"
#include "team/team_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

MoeShape small_layer(std::int64_t tokens, std::int64_t experts) {
  MoeShape shape;
  shape.part = "test";
  shape.hidden = 48;
  shape.width = 40;
  shape.experts = experts;
  shape.chosen = 3;
  shape.tokens = tokens;
  shape.dtype = DType::fp32;
  return shape;
}

class MoeWorkTest : public OnATeam {
 protected:
  // Of each engine and exchange. `shape`: of a batch.
  void expect_right(const MoeShape& shape, const TokenRouting& routing, const GraphUse& graph = {},
                    MoeOverlap overlap = MoeOverlap::none, MoeCounts counts = MoeCounts::known) {
    const MoeRoutings routings(routing, shape, 2 * static_cast<int>(batches_of(overlap)), *team_);
    for (const char* engine : {"dma", "kernel"}) {
      const auto session = engines_named(*machine_, {engine}).front()->open(*team_);
      for (const ExchangeKind kind : all_exchanges(routings.nodes().nodes())) {
        SCOPED_TRACE(std::string(engine) + " " + name(kind));
        Tuning tuning;
        tuning.seconds = 0.01;
        MoeWork work(*team_, routings, {session.get(), kind, overlap, graph, counts}, tuning);
        const Sampling sampling = Sampler(*team_).measure(work, short_mode(2));
        EXPECT_TRUE(sampling.warnings.empty()) << sampling.warnings.front();
      }
    }
  }
};

TEST_P(MoeWorkTest, SumsWhatTheChosenExpertsMake) {
  expect_right(small_layer(37, 4 * team_->size()), {});
}

TEST_P(MoeWorkTest, ExpertsMayBeWithoutRowsAndRanksToo) {
  const std::string path = ::testing::TempDir() + "to_one_rank.txt";
  std::ofstream(path) << "0 1 2\n3 1 0\n";
  expect_right(small_layer(5, 4 * team_->size()), parse_token_routing("file:" + path));
}

// Which are compared with those of the routing.
TEST_P(MoeWorkTest, HostsWaitForCounts) {
  const MoeShape shape = small_layer(37, 4 * team_->size());
  expect_right(shape, parse_token_routing("hot:4"), {}, MoeOverlap::none, MoeCounts::host);
  expect_right(shape, {}, {}, MoeOverlap::halves, MoeCounts::host);
}

TEST_P(MoeWorkTest, ATokenAlone) { expect_right(small_layer(1, 4 * team_->size()), {}); }

TEST_P(MoeWorkTest, ExpertsDropWhatTheyHaveNoRoomFor) {
  MoeShape shape = small_layer(37, 4 * team_->size());
  shape.capacity_factor = 0.8;
  expect_right(shape, parse_token_routing("hot:4"));
}

TEST_P(MoeWorkTest, RowsGoToExpertsInFp8) {
  MoeShape shape = small_layer(37, 4 * team_->size());
  shape.hidden = 128;
  shape.fp8_rows = true;
  expect_right(shape, {});
}

TEST_P(MoeWorkTest, BackwardPassesGiveGradients) {
  MoeShape shape = small_layer(37, 4 * team_->size());
  shape.trains = true;
  expect_right(shape, {});
  shape.capacity_factor = 0.8;
  expect_right(shape, parse_token_routing("hot:4"), {2, 1}, MoeOverlap::beside);
  shape.hidden = 128;
  shape.fp8_rows = true;
  shape.shared = 1;
  expect_right(shape, {}, {}, MoeOverlap::halves);
}

TEST_P(MoeWorkTest, CallsAreCaptured) {
  expect_right(small_layer(20, 4 * team_->size()), parse_token_routing("hot:20"), {2, 3});
}

// Rank 1 has no rows, and so none without contents.
TEST(SimulatedMoe, AllRanksLeaveOutTheVerification) {
  const auto machine = open_machine("sim:h200:devices=2");
  Team team(*machine);
  MoeShape shape = small_layer(5, 8);
  shape.dtype = DType::bf16;
  const std::string path = ::testing::TempDir() + "to_rank_0.txt";
  std::ofstream(path) << "0 1 2\n";
  const MoeRoutings routings(parse_token_routing("file:" + path), shape, 1, team);
  const auto session = engines_named(*machine, {"dma"}).front()->open(team);
  MoeWork work(team, routings, {session.get(), ExchangeKind::per_rank}, {});
  EXPECT_EQ(Sampler(team).measure(work, short_mode(2)).warnings.size(), 1u);
}

TEST_P(MoeWorkTest, SharedExpertsMultiplyAllTokens) {
  MoeShape shape = small_layer(37, 4 * team_->size());
  shape.shared = 2;
  for (const MoeOverlap overlap : {MoeOverlap::none, MoeOverlap::beside}) {
    SCOPED_TRACE(name(overlap));
    expect_right(shape, {}, {}, overlap);
  }
}

TEST_P(MoeWorkTest, HalvesOverlap) {
  MoeShape shape = small_layer(19, 4 * team_->size());
  expect_right(shape, {}, {}, MoeOverlap::halves);
  shape.shared = 1;
  expect_right(shape, parse_token_routing("hot:20"), {2, 3}, MoeOverlap::halves);
}

bool is_in_node(const std::string& phase) { return phase.find("_in_node") != std::string::npos; }
bool is_of_counts(const std::string& phase) { return phase.find("counts") == 0; }

// The names of the phases, all of which take time.
std::vector<std::string> timed_phases(Team& team, MoeWork& work) {
  std::vector<std::string> phases;
  Sampler(team).measure(work, short_mode(2), {}, [&](const RunAgain&) {
    team.each([&](Rank& rank) {
      const auto times = work.time_phases(rank);
      if (rank.local != 0) return;
      for (const auto& [phase, seconds] : times) {
        phases.push_back(phase);
        EXPECT_TRUE(seconds > 0 || phase == "wait") << phase;
      }
    });
  });
  return phases;
}

TEST_P(MoeWorkTest, TimesItsPhases) {
  MoeShape shape = small_layer(30, 4 * team_->size());
  shape.shared = 1;
  const MoeRoutings routings({}, shape, 4, *team_);
  const auto session = engines_named(*machine_, {"dma"}).front()->open(*team_);
  MoeWork serial(*team_, routings, {session.get(), ExchangeKind::per_rank}, {});
  std::vector<std::string> all(std::begin(kMoePhases), std::end(kMoePhases));
  all.erase(std::remove_if(all.begin(), all.end(), is_in_node), all.end());
  MoeWay with_counts{session.get(), ExchangeKind::per_rank};
  with_counts.counts = MoeCounts::host;
  MoeWork counting(*team_, routings, with_counts, {});
  EXPECT_EQ(timed_phases(*team_, counting), all);
  all.erase(std::remove_if(all.begin(), all.end(), is_of_counts), all.end());
  EXPECT_EQ(timed_phases(*team_, serial), all);
  MoeWork halves(*team_, routings, {session.get(), ExchangeKind::per_rank, MoeOverlap::halves}, {});
  std::vector<std::string> overlapped = timed_phases(*team_, halves);
  std::vector<std::string> wanted = all;
  wanted.push_back("wait");
  std::sort(overlapped.begin(), overlapped.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(overlapped, wanted);
}

// Every phase there is, of nodes of two ranks.
TEST(MoeOverNodes, TimesThePhasesWithinThem) {
  const auto machine = open_machine("host:4");
  Team team(*machine);
  team.set_node_size(2);
  MoeShape shape = small_layer(30, 16);
  shape.shared = 1;
  shape.trains = true;
  const MoeRoutings routings({}, shape, 2, team);
  const auto session = engines_named(*machine, {"dma"}).front()->open(team);
  MoeWay way{session.get(), ExchangeKind::per_node};
  way.counts = MoeCounts::host;
  MoeWork work(team, routings, way, {});
  std::vector<std::string> timed = timed_phases(team, work);
  std::vector<std::string> all(std::begin(kMoePhases), std::end(kMoePhases));
  all.insert(all.end(), std::begin(kMoeBackwardPhases), std::end(kMoeBackwardPhases));
  std::sort(timed.begin(), timed.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(timed, all);
}

INSTANTIATE_TEST_SUITE_P(Machines, MoeWorkTest,
                         ::testing::Values("host:2", "host:3", "sim:h200:devices=2",
                                           "sim:p5-48xlarge:devices=2:nodes=2",
                                           "sim:p5-48xlarge:devices=1:nodes=3", "cuda"),
                         machine_label);

}  // namespace
}  // namespace duet
