// Layers give the right sums on every kind of device, by every exchange.
#include "moe/moe_work.h"

#include <gtest/gtest.h>

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
  void expect_right(const MoeShape& shape, const TokenRouting& routing,
                    const GraphUse& graph = {}) {
    const MoeRoutings routings(routing, shape, 2, *team_);
    for (const char* engine : {"dma", "kernel"}) {
      const auto session = engines_named(*machine_, {engine}).front()->open(*team_);
      for (const ExchangeKind kind : all_exchanges()) {
        SCOPED_TRACE(std::string(engine) + " " + name(kind));
        Tuning tuning;
        tuning.seconds = 0.01;
        MoeWork work(*team_, routings, kind, session.get(), graph, tuning);
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

TEST_P(MoeWorkTest, ATokenAlone) { expect_right(small_layer(1, 4 * team_->size()), {}); }

TEST_P(MoeWorkTest, ExpertsDropWhatTheyHaveNoRoomFor) {
  MoeShape shape = small_layer(37, 4 * team_->size());
  shape.capacity_factor = 0.8;
  expect_right(shape, parse_token_routing("hot:4"));
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
  MoeWork work(team, routings, ExchangeKind::per_rank, session.get(), {}, {});
  EXPECT_EQ(Sampler(team).measure(work, short_mode(2)).warnings.size(), 1u);
}

TEST_P(MoeWorkTest, TimesItsPhases) {
  const MoeRoutings routings({}, small_layer(30, 4 * team_->size()), 3, *team_);
  const auto session = engines_named(*machine_, {"dma"}).front()->open(*team_);
  MoeWork work(*team_, routings, ExchangeKind::per_rank, session.get(), {}, {});
  std::vector<std::string> phases;
  Sampler(*team_).measure(work, short_mode(2), {}, [&](const RunAgain&) {
    team_->each([&](Rank& rank) {
      const auto times = work.time_phases(rank);
      if (rank.local != 0) return;
      for (const auto& [phase, seconds] : times) {
        phases.push_back(phase);
        EXPECT_GT(seconds, 0) << phase;
      }
    });
  });
  EXPECT_EQ(phases, std::vector<std::string>(std::begin(kMoePhases), std::end(kMoePhases)));
}

INSTANTIATE_TEST_SUITE_P(Machines, MoeWorkTest,
                         ::testing::Values("host:2", "host:3", "sim:h200:devices=2", "cuda"),
                         machine_label);

}  // namespace
}  // namespace duet
