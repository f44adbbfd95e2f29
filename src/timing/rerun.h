// Running prepared Works again when their samples are taken, for what a sample is too short to
// show.
#pragma once

#include <functional>

namespace duet {

struct Rerun {
  int iterations = 0;  // of one sample each
  double seconds = 0;  // that they took, all together, without what lies between them
};

// Runs some iterations as the samples were run. Throws Interrupted when the user wants to end, and
// what the Works throw.
using RunAgain = std::function<Rerun()>;
// Called once, between the last sample and the verification.
using AfterSamples = std::function<void(const RunAgain&)>;

}  // namespace duet
