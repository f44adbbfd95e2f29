#include "results/rates.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

TEST(Rates, FlopGiveTflopsAndNoBandwidth) {
  const Rates rates = rates_of("gemm", {2e12, 1e9, 0}, 0.5);
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates[0].first, "tflops");
  EXPECT_DOUBLE_EQ(rates[0].second, 4);
}

TEST(Rates, BytesOnTheWireComeBeforeMemory) {
  const Rates rates = rates_of("copy", {0, 2e9, 1e9}, 0.5);
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates[0].first, "gb_per_s");
  EXPECT_DOUBLE_EQ(rates[0].second, 2);
}

TEST(Rates, MemoryBytesCountWhereNothingTravels) {
  EXPECT_DOUBLE_EQ(rates_of("of no workload", {0, 2e9, 0}, 0.5).at(0).second, 4);
}

TEST(Rates, GridsCountByMemoryAndByPoints) {
  Cost cost{4e9, 8e9, 1e6};
  cost.more = {{"points", 1e9}};
  const Rates rates = rates_of("halo", cost, 0.5);
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[0].first, "gb_per_s");
  EXPECT_DOUBLE_EQ(rates[0].second, 16);
  EXPECT_EQ(rate_heading(rates[1].first), "GLUP/s");
  EXPECT_DOUBLE_EQ(rates[1].second, 2);
}

TEST(Rates, NoTimeOrNoCostGivesNone) {
  EXPECT_TRUE(rates_of("copy", {1, 1, 1}, 0).empty());
  EXPECT_TRUE(rates_of("copy", {}, 1).empty());
}

TEST(Rates, WhatAnOverlapKeepsStandsInThePlaceOfARate) {
  const auto text = [](ByName<double> metrics) {
    Record record;
    record.metrics = std::move(metrics);
    return main_rate(record);
  };
  EXPECT_EQ(text({{"fraction_of_ideal", 0.974}, {"bound", 0.952}}), "0.97 of ideal, bound 0.95");
  EXPECT_EQ(text({{"fraction_of_ideal", -0.001}}), "0.00 of ideal");
  EXPECT_EQ(text({{"bound", 0.952}}), "bound 0.95");
  EXPECT_EQ(text({{"bound", 0.95},
                  {"compute_seconds", 0.01},
                  {"engine_seconds", 0.004},
                  {"power_estimate_seconds", 0.0105},
                  {"joules_per_gb", 0.238}}),
            "bound 0.95, least 10.000 ms by compute, 4.000 ms by links, 10.500 ms by power "
            "(estimate), 0.24 J/GB");
  EXPECT_EQ(text({}), "");
}

TEST(Rates, NetworksCountInBitsAndAgainstTheirLinks) {
  Cost cost;
  cost.more = {{"network_bytes", 125e6}};
  EXPECT_EQ(rates_of("fabric", cost, 0.5), (Rates{{"gbit_per_s", 2.0}}));
  cost.more.set("link_gbit_per_s", 4);
  EXPECT_EQ(rates_of("fabric", cost, 0.5), (Rates{{"gbit_per_s", 2.0}, {"percent_of_link", 50.0}}));
  cost.more.set("algorithm_bytes", 500e6);
  cost.more.set("bus_bytes", 500e6);
  EXPECT_EQ(rates_of("collective", cost, 0.5),
            (Rates{{"busbw_gb_per_s", 1.0}, {"algbw_gb_per_s", 1.0}, {"percent_of_rails", 50.0}}));
}

TEST(Rates, MessagesHaveLatenciesBehindTheirRate) {
  const auto text_of = record_kind("fabric").more_text;
  Record record;
  record.rates = {{"gbit_per_s", 98.0}};
  EXPECT_EQ(text_of(record), "");
  record.rates.set("latency_p50_us", 20);
  record.rates.set("latency_p95_us", 30);
  record.rates.set("latency_p99_us", 1500);
  EXPECT_EQ(text_of(record), "p50 20.00 us, p95 30.00 us, p99 1.500 ms");
  record.rates.set("percent_of_link", 98.04);
  for (const char* part : {"push_us", "poll_us", "post_us", "completion_us"}) {
    record.rates.set(part, 2);
  }
  EXPECT_EQ(text_of(record),
            "98% of link, p50 20.00 us, p95 30.00 us, p99 1.500 ms; push 2.00 us, poll 2.00 us, "
            "post 2.00 us, completion 2.00 us");
}

TEST(Rates, HeadingsNameTheUnit) {
  EXPECT_EQ(rate_heading("gbit_per_s"), "Gbit/s");
  EXPECT_EQ(rate_heading("percent_of_link"), "% of link");
  EXPECT_EQ(rate_heading("gb_per_s"), "GB/s");
  EXPECT_EQ(rate_heading("tflops"), "TFLOP/s");
  EXPECT_EQ(rate_heading("asymptotic_gb_per_s"), "limit GB/s");
  EXPECT_EQ(rate_heading("read_gb_per_s"), "read GB/s");
  EXPECT_EQ(rate_heading("latency_us"), "latency us");
  EXPECT_EQ(rate_heading("n_half_bytes"), "n half");
  EXPECT_EQ(rate_heading("bytes_80_percent"), "80% from");
}

TEST(Rates, TextsCarryWhatTheHeadingLacks) {
  EXPECT_EQ(rate_text("gb_per_s", 391.24), "391.2");
  EXPECT_EQ(rate_text("n_half_bytes", 1.5 * 1024 * 1024), "1.500 MiB");
  EXPECT_EQ(rate_text("n_half_bytes", 12), "12 B");
  EXPECT_EQ(rate_text("bytes_80_percent", 65536), "64.00 KiB");
  EXPECT_EQ(rate_text("bytes_90_percent", 0), "-");
  EXPECT_EQ(rate_text("latency_seconds", 1e-5), "10.00 us");
}

}  // namespace
}  // namespace duet
