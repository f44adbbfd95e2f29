// Counters of known power: the measured power must be within the stated resolution.
#include "timing/power_draw.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/message_fixture.h"

namespace duet {
namespace {

// Changes every 20 ms, as the counters of GPUs do.
EnergyCounter counter(const std::string& device, double watts) {
  return {device, [watts] {
            return std::optional<double>(watts * 0.02 * std::floor(steady_now() / 0.02));
          }};
}

// Two iterations that take a millisecond, of which they are busy for half.
Rerun sleep_a_little() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return {2, 0.0005};
}

std::string error_of(const EnergyCounter& broken) {
  return message_of<Error>([&] {
    power_draw({counter("a", 100), broken}, 0.1, 0.2, sleep_a_little);
  });
}

TEST(PowerDraw, IsWhatAllDevicesDraw) {
  const PowerDraw draw =
      power_draw({counter("a", 100), counter("b", 300)}, 0.3, 20, sleep_a_little);
  EXPECT_LE(draw.resolution, 0.02);
  EXPECT_GT(draw.resolution, 0);
  EXPECT_NEAR(draw.watts, 400, 400 * 1.05 * draw.resolution);
  EXPECT_GE(draw.seconds, 0.0005);
  EXPECT_NEAR(draw.busy, 0.00025, 1e-9);
}

TEST(PowerDraw, CountsWhatLiesBetweenIterationsAsIdle) {
  const PowerDraw draw{500, 0.01, 0.010, 0.008};
  EXPECT_NEAR(draw.joules(100), 5 - 0.2, 1e-12);
  EXPECT_NEAR(draw.joules(0), 5, 1e-12);
}

TEST(PowerDraw, SaysWhoseCounterStandsStill) {
  const EnergyCounter stuck{"b", [] { return std::optional<double>(7); }};
  EXPECT_TRUE(contains(error_of(stuck), "energy counter of b to change"));
  const EnergyCounter lost{"b", [] { return std::optional<double>(); }};
  EXPECT_EQ(error_of(lost), "b: its energy counter cannot be read any more");
}

TEST(PowerDraw, EndsWithWhatTheWorkThrows) {
  EXPECT_THROW(power_draw({counter("a", 100)}, 0.1, 1, []() -> Rerun { throw Interrupted(); }),
               Interrupted);
}

TEST(EnergyCounters, SayWhoHasNone) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  EXPECT_EQ(message_of<Unavailable>([&] { energy_counters(team); }),
            "host:0 has no energy counter");
}

}  // namespace
}  // namespace duet
