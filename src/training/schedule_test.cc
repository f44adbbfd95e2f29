#include "training/schedule.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

TEST(LearningRate, WarmsUpAndFallsByACosine) {
  const LearningRateSettings settings{2e-3, 10, 110, 0.1};
  EXPECT_EQ(learning_rate(0, settings), 0);
  EXPECT_DOUBLE_EQ(learning_rate(1, settings), 2e-4);
  EXPECT_DOUBLE_EQ(learning_rate(5, settings), 1e-3);
  EXPECT_EQ(learning_rate(10, settings), 2e-3);
  // A quarter, half and three quarters of the cosine: its heights are 0.8536, 0.5 and 0.1464.
  EXPECT_NEAR(learning_rate(35, settings), 2e-4 + 1.8e-3 * 0.853553, 1e-9);
  EXPECT_DOUBLE_EQ(learning_rate(60, settings), 1.1e-3);
  EXPECT_NEAR(learning_rate(85, settings), 2e-4 + 1.8e-3 * 0.146447, 1e-9);
  EXPECT_DOUBLE_EQ(learning_rate(110, settings), 2e-4);
  EXPECT_EQ(learning_rate(111, settings), learning_rate(110, settings));
  EXPECT_EQ(learning_rate(1'000'000'000'000, settings), learning_rate(110, settings));
}

TEST(LearningRate, RisesOnlyDuringWarmUp) {
  const LearningRateSettings settings{1, 7, 40, 0};
  for (std::int64_t step = 1; step <= 40; ++step) {
    const double change = learning_rate(step, settings) - learning_rate(step - 1, settings);
    EXPECT_EQ(change > 0, step <= 7) << step;
    EXPECT_NE(change, 0) << step;
  }
  EXPECT_EQ(learning_rate(40, settings), 0);
}

TEST(LearningRate, NeedsNoWarmUpAndNoFall) {
  const LearningRateSettings falls{1, 0, 100, 0.5};
  EXPECT_EQ(learning_rate(0, falls), 1);
  EXPECT_LT(learning_rate(1, falls), 1);
  EXPECT_DOUBLE_EQ(learning_rate(50, falls), 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(100, falls), 0.5);
  const LearningRateSettings stays{3, 0, 100, 1};
  for (const std::int64_t step : {1, 50, 100, 200}) EXPECT_EQ(learning_rate(step, stays), 3);
}

TEST(LearningRate, WarmsUpAlsoInARunThatEndsBefore) {
  for (const std::int64_t steps : {0, 5, 10}) {
    const LearningRateSettings settings{1, 10, steps, 0.1};
    EXPECT_DOUBLE_EQ(learning_rate(5, settings), 0.5) << steps;
    EXPECT_EQ(learning_rate(10, settings), 1) << steps;
    EXPECT_DOUBLE_EQ(learning_rate(11, settings), 0.1) << steps;
  }
}

}  // namespace
}  // namespace duet
