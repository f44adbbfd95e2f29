#pragma once

#include <cstdint>

namespace duet {

// How the learning rate changes over a run: a linear warm-up from 0 at step 0 to `peak` at step
// `warm_up_steps`, then half a cosine to peak * final_share at step `steps`, which stays.
struct LearningRateSettings {
  double peak = 0;
  std::int64_t warm_up_steps = 0;  // 0: the first step is near the peak
  std::int64_t steps = 0;          // of the whole run, warm-up included
  double final_share = 0;          // of the peak
};

// The rate of step `step`, from 1. Warm-up comes first: where it takes `steps` or more, the rate
// drops to the final one after it without a cosine.
double learning_rate(std::int64_t step, const LearningRateSettings& settings);

}  // namespace duet
