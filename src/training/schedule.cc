#include "training/schedule.h"

#include <cmath>

namespace duet {

double learning_rate(std::int64_t step, const LearningRateSettings& settings) {
  constexpr double kPi = 3.14159265358979323846;
  const std::int64_t warm_up = settings.warm_up_steps;
  if (step < warm_up) {
    return settings.peak * (static_cast<double>(step) / static_cast<double>(warm_up));
  }
  if (step == warm_up) return settings.peak;
  if (step >= settings.steps) return settings.peak * settings.final_share;
  const double done =
      static_cast<double>(step - warm_up) / static_cast<double>(settings.steps - warm_up);
  const double height = (1 + std::cos(kPi * done)) / 2;  // of the cosine, from 1 to 0
  return settings.peak * (settings.final_share + (1 - settings.final_share) * height);
}

}  // namespace duet
