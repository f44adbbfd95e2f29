#include "timing/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> sorted{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 4);
  EXPECT_THROW(quantile({}, 0.5), BadArgument);
}

TEST(Statistics, SummaryOfKnownSamples) {
  const Summary s = summarise({5, 1, 4, 2, 3});
  EXPECT_EQ(s.n, 5u);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 5);
  EXPECT_LE(s.ci_low, s.median);
  EXPECT_GE(s.ci_high, s.median);
  EXPECT_EQ(summarise({}).n, 0u);
}

TEST(Statistics, TheIntervalNarrowsAndHoldsTheTrueMedian) {
  const auto draw = [](std::uint64_t seed, int n) {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i) {
      samples.push_back(10 + random_normal(seed, static_cast<std::uint64_t>(i)));
    }
    return summarise(samples);
  };
  int held = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Summary s = draw(seed, 60);
    held += s.ci_low <= 10 && 10 <= s.ci_high ? 1 : 0;
  }
  EXPECT_GE(held, 93);
  const Summary few = draw(1, 20), many = draw(1, 2000);
  EXPECT_LT(many.ci_high - many.ci_low, few.ci_high - few.ci_low);
}

TEST(Statistics, EqualSamplesGiveEqualSummaries) {
  const std::vector<double> samples{3, 1, 2, 9, 4, 4, 7};
  EXPECT_EQ(summarise(samples).ci_low, summarise(samples).ci_low);
  const Summary flat = summarise(std::vector<double>(10, 2.5));
  EXPECT_DOUBLE_EQ(flat.ci_low, 2.5);
  EXPECT_DOUBLE_EQ(flat.ci_high, 2.5);
}

TEST(Student, HasTheTablesQuantiles) {
  EXPECT_NEAR(normal_quantile(0.975), 1.95996, 1e-4);
  EXPECT_NEAR(normal_quantile(0.1), -1.28155, 1e-4);
  EXPECT_NEAR(student_quantile(0.05, HUGE_VAL), 1.95996, 1e-4);
  EXPECT_NEAR(student_quantile(0.05, 2), 4.303, 0.2);
  EXPECT_NEAR(student_quantile(0.05, 8), 2.306, 0.01);
  EXPECT_NEAR(student_quantile(0.001, 8), 5.041, 0.05);
  EXPECT_NEAR(student_tails(2.306, 8), 0.05, 0.001);
}

}  // namespace
}  // namespace duet
