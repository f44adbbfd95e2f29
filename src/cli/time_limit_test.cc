#include "cli/time_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace duet {
namespace {

void last_act() { std::fputs("the last act\n", stderr); }

void hang() { std::this_thread::sleep_for(std::chrono::minutes(1)); }

class TimeLimitDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(TimeLimitDeathTest, EndsAProcessThatHangs) {
  EXPECT_EXIT(
      {
        const TimeLimit limit(0.01, last_act);
        hang();
      },
      ::testing::ExitedWithCode(1), "the last act");
}

TEST_F(TimeLimitDeathTest, BeginsAgain) {
  EXPECT_EXIT(
      {
        TimeLimit limit(3600, last_act);
        limit.restart(0.01);
        hang();
      },
      ::testing::ExitedWithCode(1), "the last act");
}

TEST(TimeLimitTest, EndsNothingOnceItHasEnded) {
  bool acted = false;
  TimeLimit limit(3600, [&acted] { acted = true; });
  limit.restart(1800);
  limit.end();
  limit.end();
  EXPECT_FALSE(acted);
}

}  // namespace
}  // namespace duet
