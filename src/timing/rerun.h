// Runs prepared Works again after their samples were taken, for figures that take longer than a
// sample (power).
#pragma once

#include <functional>

namespace duet {

struct Rerun {
  int iterations = 0;  // each as long as one sample
  double seconds = 0;  // the sum of their times, without the gaps between them
};

// Runs some iterations in the way the samples were run. Throws Interrupted if the user wants to
// end, and what the Works throw.
using RunAgain = std::function<Rerun()>;
// Called once, between the last sample and the verification.
using AfterSamples = std::function<void(const RunAgain&)>;

}  // namespace duet
