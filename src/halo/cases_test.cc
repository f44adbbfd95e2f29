#include "halo/cases.h"

#include <gtest/gtest.h>

#include "collectives/nodes/rails_fixture.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "halo/engine.h"
#include "halo/workload.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

HaloOptions options_of(std::int64_t nx, std::int64_t ny) {
  HaloOptions options;
  options.nx = {nx};
  options.ny = {ny};
  options.iterations = 2;
  options.device_name = "host:4";
  options.mode.max_iterations = options.mode.min_iterations = options.mode.fair_iterations = 3;
  options.mode.warm_up_seconds = 0;
  return options;
}

TEST(HaloCases, ScalingAddsNumbersOfRanksAndEfficiency) {
  const auto machine = open_machine("host:4");
  HaloOptions options = options_of(16, 8);
  options.scalings = {Scaling::strong, Scaling::weak};
  options.engines = {"dma"};
  options.overlaps = {true};
  Benchmark benchmark = halo_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 6u);  // 1, 2 and 4 ranks, twice
  std::vector<Finished> finished;
  for (const Case& one : benchmark.cases) {
    const Measurement m = one.run();
    ASSERT_TRUE(m.sampling.has_value());
    EXPECT_TRUE(m.sampling->verified);
    const bool weak = one.id.axes.text("scaling") == "weak";
    const double ranks = static_cast<double>(*one.id.axes.number("ranks"));
    EXPECT_EQ(m.cost.more.value(kPoints), 16 * 8 * (weak ? ranks : 1));
    // 1 s on one rank, 0.25 s on two, 0.125 s on four.
    finished.push_back({one.id, ranks == 1 ? 1.0 : 0.5 / ranks, m.cost});
  }
  const std::vector<Measurement> scaling = benchmark.conclude(finished);
  ASSERT_EQ(scaling.size(), 4u);
  for (const Measurement& m : scaling) {
    EXPECT_EQ(m.id.benchmark, "halo_scaling");
    const double ranks = static_cast<double>(*m.id.axes.number("ranks"));
    const bool weak = m.id.axes.text("scaling") == "weak";
    const double speedup = (weak ? ranks : 1) / (0.5 / ranks);
    EXPECT_EQ(m.rates.at(0).first, "efficiency");
    EXPECT_DOUBLE_EQ(m.rates.at(0).second, speedup / ranks);
    EXPECT_DOUBLE_EQ(m.rates.at(1).second, speedup);
  }
}

// Two fields of 69 GB on one of four devices of 151 GB, in each case on another number of them.
TEST(HaloCases, MemoryIsFreeForTheNextCase) {
  const auto machine = open_machine("sim:h200-4");
  HaloOptions options = options_of(131072, 131072);
  options.scalings = {Scaling::strong};
  options.ranks = {1, 2, 1, 4};
  options.engines = {"kernel", "dma"};
  options.overlaps = {true};
  options.verified = false;
  const Benchmark benchmark = halo_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 8u);
  for (const Case& one : benchmark.cases) EXPECT_TRUE(one.run().sampling.has_value());
}

TEST(HaloCases, TheBaselineIsTheFastestOfOneRank) {
  const CaseId one{"halo", "d", "a", {{"scaling", "strong"}, {"ranks", std::int64_t{1}}}};
  CaseId fast = one;
  fast.engine = "b";
  CaseId two = one;
  two.axes.set("ranks", std::int64_t{2});
  const auto scaling = halo_scaling({{one, 4.0, {}}, {fast, 2.0, {}}, {two, 1.0, {}}});
  ASSERT_EQ(scaling.size(), 1u);
  EXPECT_DOUBLE_EQ(scaling[0].rates.at(0).second, 1.0);
  EXPECT_EQ(scaling[0].notes.at(0).second, "b");
}

TEST(HaloCases, BadInputIsOneSentence) {
  const auto machine = open_machine("host:4");
  const auto message = [&](const HaloOptions& options) {
    return message_of<UsageError>([&] { halo_benchmark(*machine, options, {}); });
  };
  EXPECT_EQ(message(options_of(16, 3)), "ny 3: expected at least a row for each of 4 ranks");
  EXPECT_EQ(message(options_of(2, 8)),
            "nx 2: expected at least 3, two fixed columns and one between");
  HaloOptions options = options_of(16, 8);
  options.ranks = {5};
  EXPECT_EQ(message(options), "--ranks 5: expected at most 4, the devices of host:4");
  options.ranks = {2, 4};
  options.scalings = {Scaling::none, Scaling::weak};
  EXPECT_EQ(message(options), "--scaling weak: expected 1 among --ranks, the baseline");
  options = options_of(16, 8);
  options.engines = {"nccl"};
  EXPECT_TRUE(contains(message(options), "nccl"));
}

TEST(HaloCases, NormsOfTheHostAndTheReferenceAreNotCaptured) {
  const auto machine = open_machine("host:4");
  HaloOptions options = options_of(16, 8);
  options.graph = true;
  options.engines = {"dma", "kernel", "host"};
  options.norms = {NormMode::none, NormMode::host};
  for (const Case& one : halo_benchmark(*machine, options, {}).cases) {
    const bool host = one.id.engine == "host" || one.id.axes.text("norm") == "host";
    const Measurement m = one.run();
    EXPECT_EQ(m.skipped.has_value(), host) << one.id.engine;
  }
}

// An engine of which no rank can be served; and one whose ranks fail.
class UnusableEngine : public HaloEngine {
 public:
  UnusableEngine(const char* name, bool fails) : name_(name), fails_(fails) {}
  std::string name() const override { return name_; }
  std::string device_kind() const override { return "host"; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    if (fails_) {
      team.each([](Rank& rank) {
        if (rank.index == 1) throw Mismatch("rank 1 fails on purpose");
        rank.team.barrier("rank 1, which fails");
      });
    }
    team.together([] { throw Unavailable("not for these ranks"); });
    return nullptr;
  }

 private:
  const char* name_;
  bool fails_;
};

// Their rails are closed by a failure alone; the next case then opens others.
TEST(HaloCases, ASkippedOrFailedCaseLeavesTheOtherEnginesTheirCases) {
  const std::string reason = why_no_rails("shm");
  if (!reason.empty()) GTEST_SKIP() << reason;
  static const bool registered = [] {  // for as long as the program runs
    register_halo_engine(std::make_unique<UnusableEngine>("refused", false));
    register_halo_engine(std::make_unique<UnusableEngine>("failing", true));
    return true;
  }();
  ASSERT_TRUE(registered);
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("host:1");
    HaloOptions options = options_of(16, 8);
    options.network.provider = "shm";
    options.node_size = 1;
    options.engines = {"dma", "refused", "kernel", "failing"};
    options.overlaps = {true};
    options.norms = {NormMode::none, NormMode::device, NormMode::none};
    const Benchmark benchmark = halo_benchmark(*machine, options, {}, &processes);
    EXPECT_EQ(benchmark.cases.size(), 12u);
    for (const Case& one : benchmark.cases) {
      if (one.id.engine == "refused") {
        EXPECT_THROW(one.run(), Unavailable);
      } else if (one.id.engine == "failing") {
        EXPECT_THROW(one.run(), Mismatch);
      } else {
        EXPECT_NO_THROW(EXPECT_TRUE(one.run().sampling->verified)) << one.id.engine;
      }
    }
    benchmark.conclude({});
  });
}

}  // namespace
}  // namespace duet
