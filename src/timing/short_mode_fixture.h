// Short measurements, for tests.
#pragma once

#include "timing/mode.h"

namespace duet {

// So many samples of one iteration.
inline Mode short_mode(int samples, double deadline_seconds = Mode{}.deadline_seconds) {
  Mode mode;
  mode.warm_up_seconds = 0;
  mode.min_iterations = mode.max_iterations = samples;
  mode.deadline_seconds = deadline_seconds;
  return mode;
}

// Two samples of so many iterations.
inline Mode short_loop(int iterations) {
  Mode mode = loop_mode();
  mode.iterations = iterations;
  mode.warm_up_iterations = 1;
  mode.min_iterations = mode.max_iterations = 2;
  return mode;
}

}  // namespace duet
