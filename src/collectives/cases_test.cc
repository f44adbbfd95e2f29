#include "collectives/cases.h"

#include <gtest/gtest.h>

#include <numeric>

#include "collectives/cost.h"
#include "collectives/crossover.h"
#include "core/error.h"

namespace duet {
namespace {

CollectiveOptions options_of(std::vector<CollectiveKind> kinds) {
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
  const Benchmark benchmark = collective_benchmark(
      *machine, options_of({CollectiveKind::all_reduce, CollectiveKind::send_recv}), {});
  // Two sizes, each in and out of place; send_recv has no in-place form.
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
    CollectiveOptions options = options_of({CollectiveKind::all_reduce, CollectiveKind::broadcast});
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
      c.kind = CollectiveKind::all_to_all_v;
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
  cost.more = {{kBusBytes, static_cast<double>(bytes)}};
  return {{"collective", "host:2", engine, {{"collective", "all_gather"}, {"bytes", bytes}}},
          seconds,
          cost};
}

struct LeadSeen {
  std::string engine, against;
  std::int64_t first, last;
  double times;
};

std::vector<LeadSeen> leads(const std::vector<Finished>& finished) {
  std::vector<LeadSeen> seen;
  for (const Measurement& one : conclude_collectives(finished)) {
    if (one.id.benchmark != "collective_crossover") continue;
    EXPECT_EQ(one.rates[0].first, "crossover_bytes");
    EXPECT_EQ(one.rates[1].first, "last_bytes");
    EXPECT_EQ(one.rates[4].first, "times_as_fast");
    seen.push_back({one.id.engine, one.id.axes.text("against").value(),
                    static_cast<std::int64_t>(one.rates[0].second),
                    static_cast<std::int64_t>(one.rates[1].second), one.rates[4].second});
  }
  return seen;
}

void expect_lead(const LeadSeen& seen, const LeadSeen& expected) {
  EXPECT_EQ(seen.engine, expected.engine);
  EXPECT_EQ(seen.against, expected.against);
  EXPECT_EQ(seen.first, expected.first);
  EXPECT_EQ(seen.last, expected.last);
  EXPECT_DOUBLE_EQ(seen.times, expected.times);
}

TEST(Crossover, IsWhereOneIsTheFastest) {
  const auto seen = leads({finished_at("a", 1, 1), finished_at("b", 1, 2), finished_at("a", 2, 2),
                           finished_at("b", 2, 2), finished_at("a", 4, 4), finished_at("b", 4, 5),
                           finished_at("a", 8, 8), finished_at("b", 8, 8), finished_at("a", 16, 16),
                           finished_at("b", 16, 8), finished_at("b", 32, 16)});
  ASSERT_EQ(seen.size(), 2u);
  expect_lead(seen[0], {"a", "b", 1, 4, 1.25});
  expect_lead(seen[1], {"b", "a", 16, 16, 2});
}

TEST(Crossover, IsAgainstTheFastestOther) {
  const auto seen = leads({finished_at("a", 1, 9), finished_at("b", 1, 6), finished_at("c", 1, 3),
                           finished_at("a", 2, 2), finished_at("b", 2, 6), finished_at("c", 2, 8)});
  ASSERT_EQ(seen.size(), 2u);
  expect_lead(seen[0], {"c", "b", 1, 1, 2});
  expect_lead(seen[1], {"a", "b", 2, 2, 3});
}

TEST(Crossover, EndsWhereTheLeaderFallsBehind) {
  // At size 2 engines b and c are equal, and a, which leads at sizes 1 and 4, is far behind.
  const auto seen = leads({finished_at("a", 1, 1), finished_at("b", 1, 2), finished_at("c", 1, 2),
                           finished_at("a", 2, 4), finished_at("b", 2, 2), finished_at("c", 2, 2),
                           finished_at("a", 4, 1), finished_at("b", 4, 2), finished_at("c", 4, 2)});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].last, 1);
  EXPECT_EQ(seen[1].first, 4);
}

TEST(Crossover, NeedsMoreThanTheIntervalsAndOnePerCent) {
  Finished wide = finished_at("b", 1, 1.2);
  wide.low_seconds = 0.99;
  wide.high_seconds = 1.3;
  EXPECT_TRUE(leads({finished_at("a", 1, 1), wide}).empty());
  wide.low_seconds = 1.1;
  EXPECT_EQ(leads({finished_at("a", 1, 1), wide}).size(), 1u);
  EXPECT_TRUE(leads({finished_at("a", 1, 1), finished_at("b", 1, 1.005)}).empty());
}

TEST(Crossover, LeavesOutAutoBesideWhatItChooses) {
  const auto seen =
      leads({finished_at("auto", 1, 1), finished_at("dma", 1, 1), finished_at("nccl", 1, 2)});
  ASSERT_EQ(seen.size(), 1u);
  expect_lead(seen[0], {"dma", "nccl", 1, 1, 2});
  EXPECT_EQ(leads({finished_at("auto", 1, 1), finished_at("nccl", 1, 2)}).size(), 1u);
}

// Engines that put in packets have a curve for each size of them, and all compete.
TEST(Crossover, IsBetweenSizesOfPacketsToo) {
  const auto cut = [](const char* engine, std::int64_t bytes, std::int64_t packet, double seconds) {
    Finished one = finished_at(engine, bytes, seconds);
    one.id.axes.set("packet", packet);
    return one;
  };
  std::vector<Measurement> seen =
      conclude_collectives({finished_at("a", 64, 4), cut("b", 64, 16, 1), cut("b", 64, 32, 2),
                            finished_at("a", 128, 8), cut("b", 128, 16, 6), cut("b", 128, 32, 3)});
  ASSERT_EQ(seen.size(), 2u);
  const auto expect_lead_of = [](const Measurement& lead, std::int64_t packet, std::int64_t other) {
    EXPECT_EQ(lead.id.engine, "b");
    EXPECT_EQ(lead.id.axes.number("packet"), packet);
    EXPECT_EQ(lead.id.axes.text("against"), "b");
    EXPECT_EQ(lead.id.axes.number("against_packet"), other);
    EXPECT_DOUBLE_EQ(lead.rates[4].second, 2);
  };
  expect_lead_of(seen[0], 16, 32);
  expect_lead_of(seen[1], 32, 16);
  seen = conclude_collectives({finished_at("a", 64, 1), cut("b", 64, 16, 2)});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].id.axes.number("packet"), std::nullopt);
  EXPECT_EQ(seen[0].id.axes.number("against_packet"), 16);
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
