#include "overlap/energy_probe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace duet {
namespace {

// A counter of 500 W, whatever runs, that is updated every 10 ms.
EnergySource steady_source() {
  EnergySource source;
  source.counters = {
      {"fake", [] { return std::optional<double>(5 * std::floor(100 * steady_now())); }}};
  source.watts_limit = 700;
  return source;
}

// A work that sleeps; all of the time counts.
RunAgain sleeping(int milliseconds) {
  return [milliseconds]() -> Rerun {
    const double begin = steady_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return {1, steady_now() - begin};
  };
}

TEST(EnergyProbe, TakesEachUnderItsName) {
  EnergyProbe probe(steady_source(), 0.3, 20, {});
  probe.take("both")(sleeping(60));
  probe.take("compute")(sleeping(50));
  probe.take("communication")(sleeping(4));
  const OverlapDraw draw = probe.draw("both", "compute", "communication");
  const double watts = 500, off = 3 * draw.resolution;
  EXPECT_LE(draw.resolution, 0.02);
  EXPECT_NEAR(draw.idle_watts, watts, off * watts);
  for (const RunEnergy& run : {draw.together, draw.compute, draw.communication}) {
    EXPECT_NEAR(run.joules, watts * run.seconds, off * watts * run.seconds);
  }
  EXPECT_GE(draw.together.seconds, 0.06);
  // Not an exact time: sleep may end late on a busy machine.
  EXPECT_LT(draw.communication.seconds, draw.compute.seconds);
  EXPECT_EQ(draw.watts_limit, 700);
  EXPECT_THROW(probe.draw("both", "compute", "others"), BadArgument);
}

TEST(EnergyProbe, LeavesItWhereThereIsNone) {
  EnergySource none;
  none.unavailable = "fake has no energy counter";
  EnergyProbe probe(none, 1, 20, {});
  EXPECT_EQ(probe.unavailable(), "fake has no energy counter");
  EXPECT_FALSE(probe.take("both"));
}

TEST(EnergyProbe, CanBeStoppedWhileNothingRuns) {
  EnergyProbe probe(steady_source(), 1, 20, [] { return true; });
  EXPECT_THROW(probe.take("both")(sleeping(1)), Interrupted);
}

}  // namespace
}  // namespace duet
