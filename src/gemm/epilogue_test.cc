#include "gemm/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace duet {
namespace {

TEST(Epilogue, GeluIsItsTanhForm) {
  for (double x = -6; x <= 6; x += 0.25) {
    const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(after_epilogue(Epilogue::gelu, x, 0), x / 2 * (1 + std::tanh(u)), 1e-12) << x;
  }
}

TEST(Epilogue, TheBackwardOneMultipliesByTheSlope) {
  double steepest = 0;
  for (double x = -6; x <= 6; x += 0.01) {
    constexpr double kStep = 1e-5;
    const double slope = (after_epilogue(Epilogue::gelu, x + kStep, 0) -
                          after_epilogue(Epilogue::gelu, x - kStep, 0)) /
                         (2 * kStep);
    EXPECT_NEAR(after_epilogue(Epilogue::gelu_backward, 3, x), 3 * slope, 1e-8) << x;
    steepest = std::max(steepest, std::abs(slope));
  }
  EXPECT_LT(steepest, kSteepestGelu);
  EXPECT_GT(steepest, 0.99 * kSteepestGelu);
}

TEST(Epilogue, Names) {
  EXPECT_EQ(parse_epilogue("gelu_backward"), Epilogue::gelu_backward);
  EXPECT_THROW(parse_epilogue("relu"), UsageError);
}

}  // namespace
}  // namespace duet
