// Which cases there are, skewed counts, and what finished ones say together.
#include "collectives/cases.h"

#include <gtest/gtest.h>

#include <numeric>

#include "collectives/crossover.h"
#include "core/error.h"

namespace duet {
namespace {

using Kind = CollectiveKind;

CollectiveOptions options_of(std::vector<Kind> kinds) {
  CollectiveOptions options;
  options.kinds = std::move(kinds);
  options.engines = {"host"};
  options.sizes = {4096, 8192};
  options.device_name = "host:2";
  options.mode.warm_up_seconds = 0;
  options.mode.max_iterations = 2;
  options.mode.min_iterations = 2;
  return options;
}

TEST(CollectiveCases, StandBySizeAndRun) {
  const auto machine = open_machine("host:2");
  const Benchmark benchmark =
      collective_benchmark(*machine, options_of({Kind::all_reduce, Kind::send_recv}), {});
  // Two sizes, in and out of place; a send_recv has no in place.
  ASSERT_EQ(benchmark.cases.size(), 6u);
  EXPECT_EQ(benchmark.cases[0].id.benchmark, "collective");
  std::vector<Finished> finished;
  for (const Case& one : benchmark.cases) {
    const Measurement result = one.run();
    ASSERT_TRUE(result.sampling.has_value());
    EXPECT_TRUE(result.sampling->verified);
    EXPECT_EQ(result.rates, (std::vector<std::pair<std::string, double>>{{"wrong", 0}}));
    finished.push_back({one.id, 1e-6, result.cost});
  }
  EXPECT_TRUE(benchmark.conclude(finished).empty());  // one engine, few sizes
}

TEST(CollectiveCases, RefusesWhatCannotBe) {
  const auto machine = open_machine("host:2");
  const auto refused = [&](auto change) {
    CollectiveOptions options = options_of({Kind::all_reduce, Kind::broadcast});
    change(options);
    EXPECT_THROW(collective_benchmark(*machine, options, {}), UsageError);
  };
  refused([](CollectiveOptions& o) { o.engines = {"warp"}; });
  refused([](CollectiveOptions& o) { o.dtypes = {DType::int8}; });
  refused([](CollectiveOptions& o) { o.root = 2; });
  refused([](CollectiveOptions& o) { o.sizes = {3}; });
}

TEST(Skew, FillsTheBusiestRankAndNoMore) {
  for (const Skew skew : {Skew::even, Skew::random, Skew::one_heavy}) {
    for (const int ranks : {1, 2, 8}) {
      Collective c;
      c.kind = Kind::all_to_all_v;
      c.dtype = DType::bf16;
      c.counts = skewed_counts(skew, c.dtype, 1 << 20, ranks);
      EXPECT_LE(size_bytes(c, ranks), 1u << 20) << name(skew);
      EXPECT_GT(size_bytes(c, ranks), (1u << 20) - 64) << name(skew);
    }
  }
  const auto heavy = skewed_counts(Skew::one_heavy, DType::int8, 1 << 20, 4);
  EXPECT_NEAR(static_cast<double>(heavy[4]), 3 * static_cast<double>(heavy[5]), 3);
}

Finished finished_at(const char* engine, std::int64_t bytes, double seconds) {
  Cost cost;
  cost.bus_bytes = static_cast<double>(bytes);
  return {{"collective", "host:2", engine, {{"collective", "all_gather"}, {"bytes", bytes}}},
          seconds,
          cost};
}

TEST(Crossover, IsWhereOneStaysAhead) {
  const std::vector<Measurement> results = conclude_collectives(
      {finished_at("a", 1, 1), finished_at("b", 1, 2), finished_at("a", 2, 2),
       finished_at("b", 2, 2), finished_at("a", 4, 4), finished_at("b", 4, 5),
       finished_at("a", 8, 8), finished_at("b", 8, 8), finished_at("a", 16, 16),
       finished_at("b", 16, 8), finished_at("b", 32, 16)});
  ASSERT_GE(results.size(), 1u);
  EXPECT_EQ(results[0].id.benchmark, "collective_crossover");
  EXPECT_EQ(results[0].id.engine, "b");
  EXPECT_EQ(std::get<std::string>(results[0].id.axes.back().second), "a");
  const auto& rates = results[0].rates;
  EXPECT_EQ(rates[0], (std::pair<std::string, double>{"crossover_bytes", 8}));
  EXPECT_EQ(rates[1].second, 1);
  EXPECT_EQ(rates[2].second, 16);
  EXPECT_EQ(rates[3].second, 2);
}

TEST(Crossover, CurvesHaveLatencyAndBandwidth) {
  std::vector<Finished> finished;
  for (std::int64_t bytes = 1024; bytes <= 1 << 26; bytes *= 4) {
    finished.push_back(finished_at("a", bytes, 1e-5 + static_cast<double>(bytes) / 1e11));
  }
  const std::vector<Measurement> results = conclude_collectives(finished);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].id.benchmark, "collective_curve");
  EXPECT_NEAR(results[0].rates[0].second, 10, 1e-6);
  EXPECT_NEAR(results[0].rates[1].second, 100, 1e-6);
}

}  // namespace
}  // namespace duet
