// Two Works at the same time: what each takes beside the other, and both together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "timing/mode.h"
#include "timing/rerun.h"
#include "timing/work.h"

namespace duet {

struct PairMode {
  bool serial = false;  // one after the other, on one stream
  // By how much later the second is let go, so that the first is on the device when it comes.
  double lag_seconds = 20e-6;
  // At least so many iterations and so many seconds of each; of a model no warm-up, and no more
  // than the iterations. A GPU near its power limit takes some 100 ms to settle its clocks: an
  // H200's GEMM is 15 to 20% faster before.
  int warm_ups = 6;
  double warm_up_seconds = 0.25;
  int iterations = 9;
  double seconds = 0.15;
  double deadline_seconds = 120;  // for any one wait
};

// How a side is measured alone, on this machine: as warm, as often and as long.
Mode alone_mode(const PairMode& mode, const Machine& machine);

// One side of an iteration on a rank, in seconds from when the rank's first side was let go.
struct PairSpan {
  double begin = 0, end = 0;
};

struct PairIteration {
  std::vector<PairSpan> first, second;  // by rank of this process

  double first_seconds() const;  // the slowest rank's
  double second_seconds() const;
  double together() const;  // to the end of the later side
};

struct PairSampling {
  std::vector<PairIteration> iterations;
  int warm_ups = 0;
  bool verified = false;
  std::vector<std::string> warnings;
};

class PairSampler {
 public:
  explicit PairSampler(Team& team, std::function<bool()> stop = {})
      : team_(team), stop_(std::move(stop)) {}

  // Prepares both, runs each once alone (libraries load kernels at their first launch, which waits
  // for the whole device), warms up, samples, verifies and releases. Each side has a stream of its
  // placement's priority. Throws what the Works throw, Timeout naming what was waited for,
  // Interrupted where `stop` says so between iterations, BadArgument for a Work that the host
  // drives, Unavailable for ranks of several processes. `after` may run both again, an iteration at
  // a time, whose seconds are PairIteration::together().
  PairSampling measure(Work& first, const Placement& first_placement, Work& second,
                       const Placement& second_placement, const PairMode& mode,
                       const AfterSamples& after = {});

 private:
  Team& team_;
  std::function<bool()> stop_;
};

}  // namespace duet
