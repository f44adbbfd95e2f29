#include "overlap/energy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace duet {
namespace {

// Four devices with a power cap of 700 W each, 500 W idle in total.
//   GEMM alone        2700 W for 10 ms
//   collective alone   900 W for 4 ms, moves 8 GB
//   both together     2790 W for 10.4 ms
OverlapDraw draw() {
  OverlapDraw d;
  d.compute = {27, 0.010};
  d.communication = {3.6, 0.004};
  d.together = {29.016, 0.0104};
  d.idle_watts = 500;
  d.watts_limit = 2800;
  d.wire_bytes = 8e9;
  return d;
}

TEST(OverlapEnergy, OfATransferIsWhatItDrawsAboveIdle) {
  const OverlapEnergy energy = overlap_energy(draw());
  EXPECT_NEAR(energy.transfer_joules, 1.6, 1e-12);
  EXPECT_NEAR(*energy.joules_per_gb, 0.2, 1e-12);
}

TEST(OverlapEnergy, BesideTheGemmIsWhatTheGemmAloneDoesNotDraw) {
  EXPECT_NEAR(*overlap_energy(draw()).joules_per_gb_beside, 0.252, 1e-12);
  OverlapDraw thrifty = draw();  // lower clocks may save more energy than the copies need
  thrifty.together.joules = 26.2;
  EXPECT_NEAR(*overlap_energy(thrifty).joules_per_gb_beside, -0.1, 1e-12);
}

// A copy beside both that draws 700 W for 5 ms alone: 1 J above idle.
TEST(OverlapEnergy, OfACopyBesideBothIsNeitherTheGemmsNorTheTransfers) {
  OverlapDraw three = draw();
  three.copy = RunEnergy{3.5, 0.005};
  const OverlapEnergy energy = overlap_energy(three);
  EXPECT_NEAR(*energy.joules_per_gb_beside, 0.252 - 1.0 / 8, 1e-12);
  EXPECT_NEAR(*energy.power_estimate_seconds, 29.6 / 2800, 1e-15);
}

TEST(OverlapEnergy, OverTheCapIsATime) {
  EXPECT_NEAR(*overlap_energy(draw()).power_estimate_seconds, 28.6 / 2800, 1e-15);
}

TEST(OverlapEnergy, SaysNothingOfWhatIsNotKnown) {
  OverlapDraw unknown = draw();
  unknown.watts_limit = 0;
  unknown.wire_bytes = 0;
  const OverlapEnergy energy = overlap_energy(unknown);
  EXPECT_FALSE(energy.joules_per_gb);
  EXPECT_FALSE(energy.joules_per_gb_beside);
  EXPECT_FALSE(energy.power_estimate_seconds);
  EXPECT_NEAR(energy.transfer_joules, 1.6, 1e-12);
}

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
