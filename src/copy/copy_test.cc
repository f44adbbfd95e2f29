// Copies: the transfers of patterns, fitted lines, cases, and verification.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "copy/cases.h"
#include "copy/copy_work.h"
#include "core/error.h"
#include "core/units.h"
#include "timing/fit.h"
#include "timing/sampler.h"

namespace duet {
namespace {

std::string axis(const Case& c, const std::string& wanted) {
  for (const auto& [key, value] : c.id.axes) {
    if (key != wanted) continue;
    if (const auto* word = std::get_if<std::string>(&value)) return *word;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  }
  return "";
}

TEST(Transfers, APairIsOneTransferAndBothWaysAreTwo) {
  CopyShape shape;
  shape.destination.rank = 1;
  EXPECT_EQ(transfers(shape, 100, 2).size(), 1u);
  EXPECT_EQ(transfers(shape, 100, 2)[0].issuer, 0);
  shape.issue = Issue::pull;
  EXPECT_EQ(transfers(shape, 100, 2)[0].issuer, 1);
  shape.bidirectional = true;
  const auto both = transfers(shape, 100, 2);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].source.rank, 1);
  EXPECT_EQ(both[1].issuer, 0);
}

TEST(Transfers, AllPairsAreEveryOrderedPairOnceAndNeverOneself) {
  CopyShape shape;
  shape.pattern = Pattern::all_pairs;
  std::set<std::pair<int, int>> seen;
  for (const Transfer& t : transfers(shape, 8, 5)) {
    EXPECT_NE(t.source.rank, t.destination.rank);
    seen.insert({t.source.rank, t.destination.rank});
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST(Fit, FindsLatencyAndBandwidthOfAnExactLine) {
  std::vector<CopyPoint> points;
  for (double bytes = 4096; bytes < 3e9; bytes *= 2) points.push_back({bytes, 8e-6 + bytes / 50e9});
  const auto fit = fit_copy(points);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->latency_seconds, 8e-6, 1e-9);
  EXPECT_NEAR(fit->bytes_per_second, 50e9, 1e6);
  EXPECT_NEAR(fit->half_bytes, 400e3, 1e3);
  EXPECT_NEAR(fit->bytes_50, 400e3, 40e3);
  EXPECT_NEAR(fit->bytes_90, 3.6e6, 4e5);
  EXPECT_LT(fit->bytes_50, fit->bytes_80);
}

TEST(Fit, SaysHowFarItIsFromItsPoints) {
  std::vector<CopyPoint> points;
  for (double bytes = 4096; bytes < 1e9; bytes *= 4) points.push_back({bytes, 8e-6 + bytes / 50e9});
  const auto exact = fit_copy(points);
  EXPECT_LT(exact->worst_miss, 1e-9);
  EXPECT_LT(exact->beyond_best, 0.01);
  EXPECT_EQ(refusal(*exact), "");
  points[4].seconds *= 1.5;
  const auto bent = fit_copy(points);
  EXPECT_GT(bent->worst_miss, 0.1);
  EXPECT_EQ(bent->worst_bytes, points[4].bytes);
  EXPECT_EQ(refusal(*bent).find("the line misses 1 MiB by "), 0u) << refusal(*bent);
  EXPECT_EQ(refusal(*bent, 2).find("the line misses 2 MiB by "), 0u) << refusal(*bent, 2);
}

TEST(Fit, IsRefusedFarBeyondItsPointsOrWithoutLatency) {
  std::vector<CopyPoint> small, large;
  for (double bytes = 4096; bytes < 1e5; bytes *= 2) small.push_back({bytes, 8e-6 + bytes / 50e9});
  EXPECT_NE(refusal(*fit_copy(small)).find("times the best that was measured"), std::string::npos);
  for (double bytes = 1e8; bytes < 2e9; bytes *= 2) large.push_back({bytes, 8e-6 + bytes / 50e9});
  EXPECT_NE(refusal(*fit_copy(large)).find("no latency shows"), std::string::npos);
  for (CopyPoint& point : large) point.seconds = std::pow(point.bytes, 1.02) / 50e9;
  EXPECT_NE(refusal(*fit_copy(large)).find("no latency shows"), std::string::npos);
}

TEST(Curves, WithoutALineSayWhy) {
  std::vector<Finished> finished;
  for (std::int64_t bytes = 4096; bytes < 1 << 28; bytes *= 2) {
    const double rate = bytes > 1 << 24 ? 5e9 : 50e9;  // slower beyond the size of a cache
    finished.push_back(
        {{"copy", "somewhere", "duet", {{"bytes", bytes}}}, static_cast<double>(bytes) / rate, {}});
  }
  const auto curves = copy_curves(finished);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_TRUE(curves[0].rates.empty());
  ASSERT_EQ(curves[0].notes.size(), 1u);
  EXPECT_EQ(curves[0].notes[0].first, "no_fit");
}

TEST(Fit, NeedsACurve) {
  EXPECT_FALSE(fit_copy({{1, 1}, {2, 2}, {4, 4}}).has_value());
  EXPECT_FALSE(fit_copy({{8, 1}, {8, 1}, {8, 1}, {8, 1}}).has_value());
}

// The sizes of a curve are those of one transfer; the rate counts the bytes of all transfers.
TEST(Curves, OfManyTransfersAreOverTheSizeOfOne) {
  std::vector<Finished> finished;
  for (std::int64_t bytes = 4096; bytes < 1 << 28; bytes *= 2) {
    Finished one;
    one.id = {
        "copy", "somewhere", "duet", {{"pattern", std::string("all_pairs")}, {"bytes", bytes}}};
    one.median_seconds = 1e-5 + static_cast<double>(bytes) / 50e9;
    one.cost.wire_bytes = 56.0 * static_cast<double>(bytes);
    finished.push_back(one);
  }
  const auto curves = copy_curves(finished);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].id.benchmark, "copy_curve");
  EXPECT_EQ(curves[0].id.axes.size(), 1u);
  for (const auto& [rate, value] : curves[0].rates) {
    if (rate == "asymptotic_gb_per_s") {
      EXPECT_NEAR(value, 56 * 50, 1);
    }
    if (rate == "n_half_bytes") {
      EXPECT_NEAR(value, 5e5, 1e3);
    }
  }
}

TEST(Cases, SizesAreTheStudys) {
  const auto sizes = seed_sizes();
  EXPECT_EQ(sizes.front(), 4096u);
  EXPECT_EQ(sizes[sizes.size() - 2], 1u << 30);
  EXPECT_EQ(sizes.back(), 2101346304u);
}

TEST(Cases, CoverEveryPairAtOneSizeAndOnePairAtAllSizes) {
  auto machine = open_machine("sim:mi300x-8");
  CopyOptions options;
  options.kinds = {CopyKind::peer};
  options.executors = {Executor::dma};
  options.issues = {Issue::push};
  options.device_name = "sim:mi300x-8";
  const Benchmark benchmark = copy_benchmark(*machine, options, {});
  int one_way = 0, both_ways = 0, all = 0;
  for (const Case& c : benchmark.cases) {
    if (axis(c, "pattern") == "all_pairs") ++all;
    if (axis(c, "bytes") != "268435456" || axis(c, "pattern") != "pair") continue;
    ++(axis(c, "bidirectional") == "true" ? both_ways : one_way);
  }
  EXPECT_EQ(one_way, 56);
  EXPECT_EQ(both_ways, 28);
  EXPECT_EQ(all, static_cast<int>(seed_sizes().size()));
}

TEST(Cases, RefusePairsThatAreNotThere) {
  auto machine = open_machine("host:2");
  CopyOptions options;
  options.pairs = {{0, 2}};
  EXPECT_THROW(copy_benchmark(*machine, options, {}), UsageError);
  options.pairs = {{1, 1}};
  EXPECT_THROW(copy_benchmark(*machine, options, {}), UsageError);
  options.pairs = {{0, 1}};
  options.blocks = {2048};
  EXPECT_THROW(copy_benchmark(*machine, options, {}), UsageError);
}

TEST(Cases, SayWhyKernelsDoNotCopyPageableMemory) {
  auto machine = open_machine("sim:h200-4");
  CopyOptions options;
  options.kinds = {CopyKind::host_to_device};
  options.executors = {Executor::kernel};
  options.host_memory = {MemoryKind::pageable};
  options.sizes = {4096};
  const Benchmark benchmark = copy_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 1u);
  EXPECT_TRUE(benchmark.cases[0].run().skipped.has_value());
}

// Runs every kind of case of a machine at an odd size; each verifies its data.
TEST(Cases, MoveTheRightBytesOnEveryMachine) {
  for (const char* name : {"host", "host:3", "sim:mi300x-8"}) {
    auto machine = open_machine(name);
    CopyOptions options;
    options.sizes = {4096, 70001};
    options.matrix_bytes = 12345;
    options.executors = {Executor::dma, Executor::kernel, Executor::host};
    options.mode.warm_up_seconds = 0;
    options.mode.max_iterations = 3;
    int measured = 0;
    for (const Case& c : copy_benchmark(*machine, options, {}).cases) {
      Measurement m;
      try {
        m = c.run();
      } catch (const Unavailable&) {
        continue;  // the CPU as the executor of a copy between simulated devices
      }
      if (m.skipped.has_value()) continue;
      ++measured;
      ASSERT_TRUE(m.sampling.has_value());
      EXPECT_TRUE(m.sampling->verified) << name;
      EXPECT_EQ(m.sampling->samples.size(), 3u);
    }
    EXPECT_GE(measured, 6) << name;
  }
}

TEST(CopyWork, NoticesBytesThatDidNotArrive) {
  auto machine = open_machine("host:2");
  Team team(*machine);
  CopyShape shape;
  shape.destination.rank = 1;
  CopyWork work(team, shape, 4096);
  team.each([&](Rank& rank) { work.prepare(rank, {}); });
  // Nothing was enqueued: the destination still holds its poison.
  EXPECT_THROW(team.each([&](Rank& rank) { work.verify(rank); }), Mismatch);
  team.each([&](Rank& rank) { work.release(rank); });
}

}  // namespace
}  // namespace duet
