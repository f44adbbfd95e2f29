// Forecasts and advice compared with figures computed by hand.
#include "overlap/advisor/advisor.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "overlap/advisor/table_fixture.h"

namespace duet {
namespace {

OverlapScenario scenario(const std::string& communicate) {
  return parse_scenario("gemm:10000x10000x5000", communicate);  // 10 ms
}

const PolicyForecast& of(const Advice& advice, const std::string& policy) {
  for (const PolicyForecast& each : advice.forecasts) {
    if (name(each.policy) == policy) return each;
  }
  throw Error("no forecast for " + policy);
}

bool no_partitions(const OverlapPolicy& policy) { return !has_partition(policy.kind); }

TEST(Forecast, ComesFromRooflinesAndLines) {
  const DeviceTable table = round_table();
  const DevicePeaks none;
  const Forecast forecast(table, none);
  EXPECT_NEAR(forecast.compute(parse_problem("1000x1000x5000 bf16 nn"), 0), 1e-4, 1e-9);
  EXPECT_NEAR(forecast.compute(parse_problem("1000x1000x5000 bf16 nn"), 12), 1.15e-4, 1e-9);
  EXPECT_EQ(forecast.bound(parse_problem("10x50000x10000 bf16 nn")), BoundClass::memory);
  // The time of 2 x 8 x 1000 x 1000 FLOP is negligible beside that of 2.03 MB.
  const GemmProblem flat = parse_problem("8x1000x1000 bf16 nn");
  EXPECT_NEAR(forecast.compute(flat, 8), 0.9 * bytes(flat) / 1e12, 1e-12);
  const auto all_gather = [&](std::uint64_t size, const char* engine, int units) {
    return forecast.communication(CollectiveKind::all_gather, size, engine, units);
  };
  EXPECT_NEAR(all_gather(2000000000, "library", 0), 20.01e-3, 1e-9);
  EXPECT_NEAR(all_gather(2000000000, "library", 8), 40.02e-3, 1e-9);
  EXPECT_NEAR(all_gather(1000, "dma", 0), 20.8e-6, 1e-12);  // the smallest measured time
  EXPECT_EQ(forecast.units_needed(CollectiveKind::all_gather, "library"), 16);
}

TEST(Forecast, TakesWhatIsPromisedWhereNothingWasMeasured) {
  DeviceTable table;
  table.ranks = 4;
  DevicePeaks peaks;
  peaks.flop_per_s[DType::bf16] = 1e14;
  peaks.memory_bytes_per_s = 1e12;
  peaks.link_bytes_per_s = 1e11;
  const Forecast forecast(table, peaks);
  EXPECT_NEAR(forecast.compute(parse_problem("10000x10000x5000 bf16 nn"), 0), 10e-3 / 0.7, 1e-9);
  EXPECT_NEAR(forecast.communication(CollectiveKind::all_gather, 4000000000, "any", 0),
              3e9 / 0.7e11, 1e-9);
  EXPECT_THROW(forecast.compute(parse_problem("64x64x64 fp16 nn"), 0), UsageError);
  // The rate of another type follows from the measured one by the ratio of their peak rates.
  table = round_table();
  peaks.flop_per_s[DType::fp8_e4m3] = 2e14;
  EXPECT_NEAR(forecast.compute(parse_problem("10000x10000x5000 fp8_e4m3 nn"), 0), 5e-3, 1e-9);
}

TEST(Advisor, TakesTheLeastOfWhatItForecasts) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::base, "library", 1),
                   beside(OverlapPolicyKind::priority, "library", 0.3),
                   beside(OverlapPolicyKind::dma, "dma", 0.1)};
  const Advice advice = advise(table, {}, scenario("all_gather:400000000"), no_partitions);
  EXPECT_EQ(name(advice.policy), "dma");
  EXPECT_NEAR(advice.seconds, 10e-3 + 0.1 * 3.22e-3, 1e-9);
  EXPECT_NEAR(of(advice, "priority").together, 10e-3 + 0.3 * 4.01e-3, 1e-9);
  EXPECT_NEAR(of(advice, "serial").together, 14.01e-3, 1e-9);
  EXPECT_NEAR(of(advice, "base").together, 14.01e-3, 1e-9);
  EXPECT_EQ(of(advice, "priority").units, 16);
  EXPECT_NE(advice.why.find("next is priority"), std::string::npos) << advice.why;
}

TEST(Advisor, TakesPiecesOneAfterTheOther) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::dma, "dma", 0)};
  OverlapScenario pieces = parse_scenario("gemm:100x10000x5000", "all_gather:1000000");
  pieces.pieces = 10;
  const PolicyForecast forecast = of(advise(table, {}, pieces, no_partitions), "dma");
  // Ten pieces of 100 kB, each with its latency.
  EXPECT_NEAR(forecast.communication, 10 * 20.8e-6, 1e-9);
  EXPECT_NEAR(forecast.together, std::max(forecast.compute, forecast.communication), 1e-9);
}

TEST(Advisor, TakesFewerUnitsOfTwoThatAreAsFast) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::priority, "library", 0.1),
                   beside(OverlapPolicyKind::dma, "dma", 0.12)};
  // The two forecasts differ by less than 1% of T.
  const Advice advice = advise(table, {}, scenario("all_gather:100000"), no_partitions);
  EXPECT_EQ(name(advice.policy), "dma");
  EXPECT_EQ(name(advice.forecasts.front().policy), "priority");
  EXPECT_NE(advice.why.find("takes 16 units"), std::string::npos) << advice.why;
}

TEST(Advisor, WeighsBothSidesOfAPartition) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::priority, "library", 0.9)};
  const Advice advice = advise(table, {}, scenario("all_gather:400000000"));
  // With 8 units the GEMM takes 11 ms and the collective 8 ms. With 16 units T would be 12 ms.
  EXPECT_EQ(advice.policy.units, 8);
  EXPECT_NEAR(advice.seconds, 11e-3, 1e-9);
  EXPECT_NEAR(of(advice, "partition:16").together, 12e-3, 1e-9);
  // The collective is the longer side, so it decides.
  EXPECT_EQ(advise(table, {}, scenario("all_gather:1500000000")).policy.units, 16);
}

TEST(Advisor, ReadsTheLossOfThePairThatIsMostAlike) {
  DeviceTable table = round_table();
  BesideEntry flat = beside(OverlapPolicyKind::dma, "dma", 0.8);
  flat.compute = parse_problem("10x50000x10000 bf16 nn");
  table.besides = {beside(OverlapPolicyKind::dma, "dma", 0.1), flat};
  const OverlapScenario memory = parse_scenario("gemm:8x50000x10000", "all_gather:100M");
  EXPECT_NEAR(of(advise(table, {}, memory), "dma").loss, 0.8, 1e-9);
  EXPECT_NEAR(of(advise(table, {}, scenario("all_gather:100M")), "dma").loss, 0.1, 1e-9);
}

TEST(Advisor, WaitsForAShorterSideThatIsSlowed) {
  DeviceTable table = round_table();
  BesideEntry pair = beside(OverlapPolicyKind::dma, "dma", 0);
  pair.bytes = 2000000000;
  pair.engine_alone = pair.together = 16e-3;
  pair.compute_slowdown = 1.3;  // the GEMM still ends before the collective
  pair.communication_slowdown = 1;
  table.besides = {pair};
  const auto together = [&](const char* communicate) {
    return of(advise(table, {}, scenario(communicate)), "dma").together;
  };
  EXPECT_NEAR(together("all_gather:2000000000"), 16.02e-3, 1e-9);
  EXPECT_NEAR(together("all_gather:1500000000"), 13e-3, 1e-9);  // here the GEMM ends last
}

TEST(Advisor, LeavesOutWhatAnEngineDoesNotHave) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::zero_cta, "zero", 0)};
  // The engine was not measured for all_gather, but others were. For all_to_all no engine was
  // measured.
  EXPECT_EQ(advise(table, {}, scenario("all_gather:400000000"), no_partitions).forecasts.size(),
            1u);
  DevicePeaks peaks;
  peaks.link_bytes_per_s = 1e11;
  EXPECT_EQ(name(advise(table, peaks, scenario("all_to_all:400M"), no_partitions).policy),
            "zero-cta");
}

TEST(Advisor, HasOnlySerialWithoutPairsAndRefusesNothing) {
  EXPECT_EQ(name(advise(round_table(), {}, scenario("all_gather:400000000"), no_partitions).policy),
            "serial");
  const auto none = [](const OverlapPolicy&) { return false; };
  EXPECT_THROW(advise(round_table(), {}, scenario("all_gather:400000000"), none), UsageError);
}

}  // namespace
}  // namespace duet
