// A counter that grows by 20 J every 0.1 s, with readings given by hand.
#include "timing/energy_meter.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

TEST(CounterTrace, IsBetweenTheFirstChangeAndTheLast) {
  CounterTrace trace;
  trace.add(0.02, 0.03, 1000);
  trace.add(0.09, 0.09, 1000);
  trace.add(0.10, 0.11, 1020);  // changed after the reading at 0.09
  EXPECT_EQ(trace.covered(), 0);
  EXPECT_EQ(trace.resolution(), 1);
  EXPECT_THROW(trace.watts(), BadArgument);
  trace.add(0.17, 0.18, 1020);
  trace.add(0.20, 0.21, 1040);  // changed after the reading at 0.17
  EXPECT_NEAR(trace.covered(), 0.1, 1e-12);
  trace.add(0.28, 0.29, 1040);
  trace.add(0.30, 0.31, 1060);  // changed after the reading at 0.28
  trace.add(0.35, 0.36, 1060);
  EXPECT_NEAR(trace.covered(), 0.2, 1e-12);
  EXPECT_NEAR(trace.watts(), 200, 1e-9);
  EXPECT_NEAR(trace.resolution(), 0.03 / 0.2, 1e-12);
}

// A change may have happened at any time since the reading before it.
TEST(CounterTrace, KnowsHowLateItLooked) {
  CounterTrace trace;
  trace.add(0, 0, 0);
  trace.add(0.5, 0.5, 100);
  trace.add(1.0, 1.0, 200);
  EXPECT_NEAR(trace.resolution(), 1, 1e-12);
  trace.add(9.99, 9.99, 1800);
  trace.add(10.5, 10.5, 2100);
  EXPECT_NEAR(trace.resolution(), 0.051, 1e-12);
}

}  // namespace
}  // namespace duet
