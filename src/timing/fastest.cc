#include "timing/fastest.h"

#include <algorithm>

#include "timing/statistics.h"

namespace duet {

std::size_t fastest_by_trial(Sampler& sampler, const std::vector<Work*>& works, Mode mode) {
  constexpr double kSeconds = 0.05;
  mode.seconds = kSeconds;
  // Ends at once where calls are equal but for the rounding of their times: on simulated machines.
  mode.relative_interval = 1e-6;
  const std::vector<Sampling> sampled = sampler.measure_by_turns(works, mode);
  const auto best = std::min_element(
      sampled.begin(), sampled.end(), [](const Sampling& one, const Sampling& other) {
        return summarise(one.samples).median < summarise(other.samples).median;
      });
  return static_cast<std::size_t>(best - sampled.begin());
}

}  // namespace duet
