#include "results/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace duet {
namespace {

const UsualNoise kHost = usual_noise("host", false);

bool is_worse(const Shift& shift) { return shift.log_ratio < -shift.half_width; }

// Runs with the mean time `seconds` and the relative standard deviation `deviation`.
std::vector<RunFigure> runs(int count, double seconds, double deviation, std::uint64_t seed) {
  std::vector<RunFigure> all;
  for (int i = 0; i < count; ++i) {
    const double normal = static_cast<double>(random_normal(seed, static_cast<std::uint64_t>(i)));
    all.push_back({seconds * std::exp(deviation * normal), 0, 0});
  }
  return all;
}

TEST(Noise, ASingleRunIsHeldAgainstWhatIsUsual) {
  const auto shift = [](double now, const UsualNoise& usual, double load = 0) {
    return shifts_of({{{{1, 0, 0}}, {{now, 0, load}}, usual}}).front();
  };
  EXPECT_TRUE(is_worse(shift(1.15, kHost)));
  EXPECT_FALSE(is_worse(shift(1.05, kHost)));
  EXPECT_TRUE(is_worse(shift(1.05, usual_noise("cuda", false))));
  EXPECT_TRUE(is_worse(shift(1.0001, usual_noise("sim", true))));
  // A load of half the CPU explains twice the time, not ten times.
  EXPECT_FALSE(is_worse(shift(2, kHost, 0.5)));
  EXPECT_TRUE(is_worse(shift(10, kHost, 0.5)));
}

TEST(Noise, ShortTimesAreLessSure) {
  const auto half = [](double seconds) {
    return shifts_of({{{{seconds, 0, 0}}, {{seconds, 0, 0}}, usual_noise("cuda", false)}})
        .front()
        .half_width;
  };
  EXPECT_LT(half(1e-2), 0.05);
  EXPECT_GT(half(5e-6), 0.2);
}

TEST(Noise, RepeatsShowWhatACaseDiffersBy) {
  const auto shift = [](double deviation, double now) {
    return shifts_of({{runs(5, 1, deviation, 1), runs(5, now, deviation, 2), kHost}}).front();
  };
  EXPECT_TRUE(is_worse(shift(0.01, 1.15)));
  EXPECT_FALSE(is_worse(shift(0.3, 1.15)));
  // Quieter runs than usual make smaller changes visible than single runs do.
  EXPECT_LT(shift(0.005, 1).half_width,
            shifts_of({{{{1, 0, 0}}, {{1, 0, 0}}, kHost}}).front().half_width);
}

TEST(Noise, ARunThatIsNotSureOfItselfStaysSoBesideRepeats) {
  const UsualNoise gpu = usual_noise("cuda", false);
  const RunFigure unsure{1.5, 0.3, 0};
  EXPECT_FALSE(is_worse(shifts_of({{{{1, 0, 0}}, {unsure}, gpu}}).front()));
  EXPECT_FALSE(is_worse(shifts_of({{{{1, 0, 0}, {1.001, 0, 0}}, {unsure}, gpu}}).front()));
}

TEST(Noise, LoadThatOnlyOneSideHadIsNotInItsRepeats) {
  CaseRuns one{runs(3, 1, 0.01, 1), runs(3, 1.5, 0.01, 2), kHost};
  EXPECT_TRUE(is_worse(shifts_of({one}).front()));
  for (RunFigure& run : one.now) run.load = 0.4;
  EXPECT_FALSE(is_worse(shifts_of({one}).front()));
  for (RunFigure& run : one.base) run.load = 0.4;
  EXPECT_TRUE(is_worse(shifts_of({one}).front()));
}

// Comparing identical runs reports a worse case in at most one comparison in twenty.
TEST(Noise, ManyCasesRaiseNoMoreFalseAlarmsThanOne) {
  for (const int repeats : {1, 2, 3, 5}) {
    int alarms = 0;
    for (std::uint64_t trial = 0; trial < 200; ++trial) {
      std::vector<CaseRuns> cases;
      for (std::uint64_t i = 0; i < 30; ++i) {
        const std::uint64_t seed = 1000 * trial + 2 * i;
        cases.push_back({runs(repeats, 1, 0.03, seed), runs(repeats, 1, 0.03, seed + 1), kHost});
      }
      bool alarm = false;
      for (const Shift& shift : shifts_of(cases)) alarm = alarm || is_worse(shift);
      alarms += alarm ? 1 : 0;
    }
    EXPECT_LE(alarms, 10) << repeats;
  }
}

}  // namespace
}  // namespace duet
