#include "timing/student.h"

#include <gtest/gtest.h>

#include <cmath>

namespace duet {
namespace {

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
