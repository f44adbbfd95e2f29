// How often the interval contains the true median, for simulated noise. Few runs with fixed seeds;
// bench/interval_coverage.cc has many.
#include "timing/median_interval.h"

#include <gtest/gtest.h>

#include "timing/noise_fixture.h"

namespace duet {
namespace {

constexpr int kRuns = 150;

// The percentage of runs that do not state an interval without the true median, with calls of
// `seconds`.
double held(const Noise& noise, double seconds, const Mode& mode = {}) {
  const Coverage c = coverage(noise, seconds, mode, kRuns);
  return 100.0 - 100.0 * (c.bounded - c.covered) / c.runs;
}

// The percentage of runs that state an interval.
double stated(const Noise& noise, double seconds) {
  const Coverage c = coverage(noise, seconds, {}, kRuns);
  return 100.0 * c.bounded / c.runs;
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

// Few runs state an interval there; of those that do, as many hold as elsewhere.
TEST(MedianInterval, HoldsForClocksThatSettle) {
  for (const double seconds : {1e-3, 1e-2, 1e-1}) {
    for (const Noise& noise :
         {noise::settling(0.01, 0.05, 100, 30), noise::settling(0.02, 0.04, 60, 60)}) {
      const Coverage c = coverage(noise, seconds, {}, kRuns);
      if (10 * c.bounded < c.runs) continue;
      EXPECT_GE(100.0 * c.covered / c.bounded, 93) << seconds;
    }
  }
  EXPECT_LE(stated(noise::settling(0.01, 0.05, 100, 30), 1e-1), 5);
}

TEST(MedianInterval, IsStatedWhereSamplesSuffice) {
  EXPECT_GE(stated(noise::correlated(0.02, 0), 1e-2), 98);
  EXPECT_GE(stated(noise::correlated(0.02, 0.9), 1e-3), 98);
  EXPECT_GE(stated(noise::correlated(0.02, 0.97), 1e-3), 98);
  EXPECT_GE(stated(noise::settling(0.01, 0.05, 100, 30), 1e-3), 95);
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

TEST(MedianInterval, StaysWithinTheSamplesAndSaysWhereThatIsNotEnough) {
  // A random walk: every sample is the previous one plus a small step.
  std::vector<double> samples{1};
  for (std::uint64_t i = 1; i < 60; ++i) {
    samples.push_back(samples.back() + 0.001 * static_cast<double>(random_normal(3, i)));
  }
  const MedianInterval interval = median_interval(samples);
  EXPECT_GT(interval.widening, 4);
  EXPECT_FALSE(interval.bounded);
  EXPECT_EQ(interval.low, *std::min_element(samples.begin(), samples.end()));
  EXPECT_EQ(interval.high, *std::max_element(samples.begin(), samples.end()));
}

TEST(MedianInterval, OfSamplesThatOnlyRiseIsNotBounded) {
  std::vector<double> samples;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    samples.push_back(1 + 0.002 * static_cast<double>(i) +
                      0.01 * static_cast<double>(random_normal(4, i)));
  }
  EXPECT_FALSE(median_interval(samples).bounded);
}

TEST(MedianInterval, NeverLeavesTheSamples) {
  for (const Noise& noise : {noise::correlated(0.3, 0.97), noise::steps(0.01, 0.3, 0.5, 30),
                             noise::settling(0.01, 0.05, 100, 30)}) {
    for (const std::size_t count : {2u, 5u, 9u, 40u, 400u}) {
      NoiseSamples draws(count);
      const NoiseSource source = noise.start(draws);
      std::vector<double> samples;
      for (std::size_t i = 0; i < count; ++i) samples.push_back(source(draws));
      const MedianInterval interval = median_interval(samples);
      EXPECT_GE(interval.low, *std::min_element(samples.begin(), samples.end())) << noise.name;
      EXPECT_LE(interval.high, *std::max_element(samples.begin(), samples.end())) << noise.name;
    }
  }
}

TEST(MedianInterval, OfOneOrEqualSamplesIsAPoint) {
  for (const std::vector<double>& samples : {std::vector<double>{2}, {2, 2, 2}, {0, 0}}) {
    const MedianInterval interval = median_interval(samples);
    EXPECT_DOUBLE_EQ(interval.low, samples[0]);
    EXPECT_DOUBLE_EQ(interval.high, samples[0]);
    EXPECT_DOUBLE_EQ(interval.widening, 1);
    EXPECT_TRUE(interval.bounded);
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
