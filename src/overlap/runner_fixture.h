#pragma once

#include "overlap/runner.h"

namespace duet {

// For tests of the runner: as few iterations as possible.
inline OverlapRuns few() {
  OverlapRuns runs;
  runs.mode.warm_ups = 1;
  runs.mode.warm_up_seconds = 0;
  runs.mode.iterations = 3;
  runs.mode.seconds = 0;
  return runs;
}

}  // namespace duet
