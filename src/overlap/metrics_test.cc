#include "overlap/metrics.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

// G = 10 and C = 4: 14 one after the other, 10 at best.
OverlapTimes times(double together) {
  OverlapTimes t;
  t.compute = 10;
  t.communication = 4;
  t.together = together;
  t.least_compute = 10;
  t.least_communication = 3;
  t.engine = 3;
  t.compute_beside = 11;
  t.communication_beside = 6;
  return t;
}

TEST(OverlapMetrics, OfAnIdealAndOfASerialRun) {
  const OverlapMetrics ideal = overlap_metrics(times(10));
  EXPECT_DOUBLE_EQ(ideal.speedup, 1.4);
  EXPECT_DOUBLE_EQ(ideal.ideal_speedup, 1.4);
  EXPECT_DOUBLE_EQ(*ideal.fraction_of_ideal, 1);
  EXPECT_DOUBLE_EQ(ideal.bound, 1);
  const OverlapMetrics serial = overlap_metrics(times(14));
  EXPECT_DOUBLE_EQ(*serial.fraction_of_ideal, 0);
  EXPECT_DOUBLE_EQ(serial.bound, 10.0 / 14);
}

// A copy of 12 is the longest: 26 one after the other, 12 at best.
TEST(OverlapMetrics, CountACopyBesideBoth) {
  OverlapTimes t = times(13);
  t.copy = 12;
  t.copy_beside = 13;
  const OverlapMetrics metrics = overlap_metrics(t);
  EXPECT_DOUBLE_EQ(metrics.speedup, 2);
  EXPECT_DOUBLE_EQ(metrics.ideal_speedup, 26.0 / 12);
  EXPECT_DOUBLE_EQ(metrics.bound, 12.0 / 13);
  EXPECT_DOUBLE_EQ(*metrics.copy_slowdown, 13.0 / 12);
  EXPECT_FALSE(overlap_metrics(times(13)).copy_slowdown);
}

TEST(OverlapMetrics, BetweenTheTwoAndBeyondThem) {
  EXPECT_NEAR(*overlap_metrics(times(12)).fraction_of_ideal, (14.0 / 12 - 1) / 0.4, 1e-12);
  EXPECT_LT(*overlap_metrics(times(20)).fraction_of_ideal, 0);  // slower than serial
}

TEST(OverlapMetrics, PassOneWhereAnEngineBeatsTheVendors) {
  OverlapTimes t = times(9);
  t.compute = 4;
  t.communication = 10;  // by the vendor's library; C_e is 8
  t.least_compute = 4;
  t.least_communication = t.engine = 8;
  const OverlapMetrics metrics = overlap_metrics(t);
  EXPECT_NEAR(*metrics.fraction_of_ideal, (14.0 / 9 - 1) / 0.4, 1e-12);
  EXPECT_GT(*metrics.fraction_of_ideal, 1);
  EXPECT_DOUBLE_EQ(metrics.bound, 8.0 / 9);
}

TEST(OverlapMetrics, SlowdownsAreOverWhatEachSideTakesAlone) {
  const OverlapMetrics metrics = overlap_metrics(times(12));
  EXPECT_DOUBLE_EQ(metrics.compute_slowdown, 1.1);
  EXPECT_DOUBLE_EQ(metrics.communication_slowdown, 2);
}

TEST(OverlapMetrics, RefuseTimesThatAreNone) {
  EXPECT_THROW(overlap_metrics(times(0)), BadArgument);
  OverlapTimes t = times(10);
  t.communication = 0;
  EXPECT_THROW(overlap_metrics(t), BadArgument);
}

TEST(OverlapBalance, HasAMarginOfFifteenPerCent) {
  EXPECT_EQ(balance(1.16, 1), Balance::g_long);
  EXPECT_EQ(balance(1.14, 1), Balance::gc_equal);
  EXPECT_EQ(balance(1, 1.14), Balance::gc_equal);
  EXPECT_EQ(balance(1, 1.16), Balance::c_long);
  EXPECT_EQ(name(Balance::gc_equal), "GC-equal");
}

}  // namespace
}  // namespace duet
