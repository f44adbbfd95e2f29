#include "timing/power_draw.h"

#include <fmt/format.h>

#include <chrono>

#include "core/clock.h"
#include "core/error.h"

namespace duet {
namespace {

// How long clocks take to settle under the power cap; longer than the counter's lag.
constexpr double kSettleSeconds = 0.3;
constexpr double kResolution = 0.02;

class Stopwatch {
 public:
  double seconds() const { return steady_now() - begin_; }

 private:
  double begin_ = steady_now();
};

}  // namespace

PowerDraw power_draw(const std::vector<EnergyCounter>& counters, double seconds,
                     double deadline_seconds, const RunAgain& again) {
  for (const Stopwatch settling; settling.seconds() < kSettleSeconds;) again();
  const EnergyMeter meter(counters);
  const Stopwatch watch;
  double iterations = 0, busy = 0;
  while (meter.covered() < seconds || meter.resolution() > kResolution) {
    if (watch.seconds() > seconds + deadline_seconds) {
      throw Timeout(fmt::format("waited {:.0f} s for the energy counter of {} to change",
                                watch.seconds(), meter.slowest()));
    }
    const Rerun rerun = again();
    iterations += rerun.iterations;
    busy += rerun.seconds;
  }
  return {meter.watts(), meter.resolution(), watch.seconds() / iterations, busy / iterations};
}

}  // namespace duet
