#include "overlap/energy.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace duet
