#include "training/host/optimisers.h"

#include <gtest/gtest.h>

#include "training/host/layers_fixture.h"

namespace duet {
namespace {

TEST(AdamW, TwoStepsByHand) {
  // Step 1: m = 0.25, v = 0.0025, both corrected to 0.5 and 0.25: w = 1 - 0.1 (1 + 0.1) = 0.89.
  // Step 2: m = 0.5 * 0.25 + 0.5 * -1 = -0.375, corrected by 1 - 0.25 to -0.5;
  // v = 0.99 * 0.0025 + 0.01 * 1 = 0.012475, corrected by 1 - 0.9801 to 0.012475 / 0.0199.
  const AdamWSettings options{0.1, 0.5, 0.99, 0.0, 0.1};
  double w = 1, m = 0, v = 0, gradient = 0.5;
  const AdamWSpan<double> span{&w, &m, &v, 1};
  adamw(options, 1, &gradient, 1.0, span);
  EXPECT_NEAR(m, 0.25, 1e-15);
  EXPECT_NEAR(v, 0.0025, 1e-15);
  EXPECT_NEAR(w, 0.89, 1e-14);
  gradient = -2;
  adamw(options, 2, &gradient, 0.5, span);
  EXPECT_NEAR(m, -0.375, 1e-15);
  EXPECT_NEAR(v, 0.012475, 1e-15);
  EXPECT_NEAR(w, 0.89 - 0.1 * (-0.5 / std::sqrt(0.012475 / 0.0199) + 0.1 * 0.89), 1e-14);
}

TEST(AdamW, AddsEpsToTheCorrectedRoot) {
  const AdamWSettings options{0.1, 0.9, 0.999, 0.5, 0.0};
  double w = 1, m = 0, v = 0;
  const double gradient = 1;
  adamw(options, 1, &gradient, 1.0, AdamWSpan<double>{&w, &m, &v, 1});
  EXPECT_NEAR(w, 1 - 0.1 * 1 / (1 + 0.5), 1e-14);
}

template <class Real>
std::vector<Real> after_three_steps(int threads) {
  constexpr std::int64_t kCount = 10001;
  const OpenMpThreads guard(threads);
  auto w = normal_values<Real>(kCount, 1);
  std::vector<Real> m(kCount), v(kCount);
  for (int step = 1; step <= 3; ++step) {
    const auto gradient = normal_values<Real>(kCount, static_cast<std::uint64_t>(10 + step));
    adamw({}, step, gradient.data(), 0.7, AdamWSpan<Real>{w.data(), m.data(), v.data(), kCount});
    sgd(0.01, gradient.data(), 0.5, w.data(), kCount);
  }
  return w;
}

TEST(Optimisers, HaveTheSameBitsWithOneAndThreeThreads) {
  EXPECT_EQ(after_three_steps<float>(1), after_three_steps<float>(3));
  EXPECT_EQ(after_three_steps<double>(1), after_three_steps<double>(3));
}

TEST(Optimisers, FloatAgreesWithDouble) {
  EXPECT_LE(relative_error(after_three_steps<float>(1), after_three_steps<double>(1)), 1e-6);
}

TEST(Sgd, SubtractsTheScaledGradient) {
  std::vector<double> w{1, 2, 3};
  const std::vector<double> gradient{4, -8, 0};
  sgd(0.5, gradient.data(), 0.25, w.data(), 3);
  EXPECT_EQ(w, (std::vector<double>{0.5, 3, 3}));
}

TEST(SquaredNorm, IsTheSumOfSquares) {
  std::vector<float> ones(10007, -2.0f);
  EXPECT_EQ(squared_norm(ones.data(), 10007), 4 * 10007.0);
  EXPECT_EQ(squared_norm(ones.data(), 0), 0);
  EXPECT_EQ(squared_norm(ones.data(), 1), 4);
}

TEST(SquaredNorm, IsTheSameWithOneAndThreeThreads) {
  const auto values = normal_values<float>(30001, 1);
  const auto with_threads = [&](int threads) {
    const OpenMpThreads guard(threads);
    return squared_norm(values.data(), 30001);
  };
  EXPECT_EQ(with_threads(1), with_threads(3));
}

TEST(ClipFactor, IsByTheNormAndNotItsSquare) {
  EXPECT_EQ(clip_factor(2, 1), 0.5);
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_EQ(clip_factor(3, 6), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
}

}  // namespace
}  // namespace duet
