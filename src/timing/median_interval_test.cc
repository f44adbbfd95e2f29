// How often the interval contains the true median, for simulated noise. Few runs with fixed seeds;
// bench/interval_coverage.cc has many.
#include "timing/median_interval.h"

#include <gtest/gtest.h>

#include "timing/noise_fixture.h"

namespace duet {
namespace {

constexpr int kRuns = 150;

// The percentage of runs whose interval contains the true median, with calls of `seconds`.
double held(const Noise& noise, double seconds, const Mode& mode = {}) {
  const Coverage c = coverage(noise, seconds, mode, kRuns);
  return 100.0 * c.covered / c.runs;
}

TEST(MedianInterval, HoldsForIndependentSamples) {
  for (const double seconds : {1e-4, 1e-2, 1e-1}) {
    EXPECT_GE(held(noise::correlated(0.02, 0), seconds), 93) << seconds;
  }
  EXPECT_GE(held(noise::correlated(0.3, 0), 1e-3), 93);
  EXPECT_GE(held(noise::correlated(0.02, 0), 1e-3, loop_mode()), 93);
}

TEST(MedianInterval, HoldsForCorrelatedSamples) {
  for (const double rho : {0.5, 0.9, 0.97}) {
    for (const double seconds : {1e-3, 1e-2, 1e-1}) {
      EXPECT_GE(held(noise::correlated(0.02, rho), seconds), 93) << rho << ' ' << seconds;
    }
    EXPECT_GE(held(noise::correlated(0.03, rho), 1e-3, do_bench_mode()), 93) << rho;
  }
  EXPECT_GE(held(noise::hidden(0.02, 0.9), 1e-3), 93);
}

TEST(MedianInterval, HoldsForBurstsStepsAndDrift) {
  EXPECT_GE(held(noise::bursts(0.02, 0.1, 10), 1e-3), 93);
  EXPECT_GE(held(noise::steps(0.01, 0.03, 0.3, 10), 1e-3), 93);
  EXPECT_GE(held(noise::drift(0.01, 0.03, 100), 1e-3), 93);
}

TEST(MedianInterval, IsNotMuchWiderThanIndependentSamplesNeed) {
  NoiseSamples draws(1);
  const NoiseSource source = noise::correlated(0.02, 0).start(draws);
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(source(draws));
  const MedianInterval interval = median_interval(samples);
  EXPECT_GE(interval.widening, 0.9);
  EXPECT_LT(interval.widening, 1.6);
  EXPECT_NEAR((interval.high - interval.low) / 2, 1.96 * 1.25 * 0.02 / std::sqrt(200), 0.002);
}

TEST(MedianInterval, IsWideWhereSamplesAreTooAlikeToSay) {
  // A random walk: every sample is the previous one plus a small step.
  std::vector<double> samples{1};
  for (std::uint64_t i = 1; i < 60; ++i) {
    samples.push_back(samples.back() + 0.001 * static_cast<double>(random_normal(3, i)));
  }
  const MedianInterval interval = median_interval(samples);
  EXPECT_GT(interval.widening, 4);
  EXPECT_LT(interval.low, *std::min_element(samples.begin(), samples.end()));
  EXPECT_GT(interval.high, *std::max_element(samples.begin(), samples.end()));
}

TEST(MedianInterval, OfOneOrEqualSamplesIsAPoint) {
  for (const std::vector<double>& samples : {std::vector<double>{2}, {2, 2, 2}, {0, 0}}) {
    const MedianInterval interval = median_interval(samples);
    EXPECT_DOUBLE_EQ(interval.low, samples[0]);
    EXPECT_DOUBLE_EQ(interval.high, samples[0]);
    EXPECT_DOUBLE_EQ(interval.widening, 1);
  }
}

TEST(MedianInterval, IsFiniteAndNotNegativeForOddSamples) {
  for (const std::vector<double>& samples :
       {std::vector<double>{0, 1}, {1, 1, 1, 1, 9}, {0, 0, 0, 5}, {1e-9, 1e3, 1e-9}, {1, 2}}) {
    const MedianInterval interval = median_interval(samples);
    EXPECT_GE(interval.low, 0);
    EXPECT_LE(interval.low, interval.high);
    EXPECT_TRUE(std::isfinite(interval.high));
  }
}

}  // namespace
}  // namespace duet
