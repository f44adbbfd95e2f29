// Times two Works that run at the same time: each of them, and both together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "timing/mode.h"
#include "timing/sampler.h"
#include "timing/work.h"

namespace duet {

struct PairMode {
  bool serial = false;  // run the second Work after the first, on one stream
  // How much later the second Work's stream is released, so that the first occupies the device
  // before.
  double lag_seconds = 20e-6;
  // Warm-up and sampling each take at least this many iterations and at least this many seconds.
  // A simulated machine has no warm-up and runs exactly `iterations`. A GPU near its power limit
  // takes some 100 ms to settle its clocks; until then an H200's GEMM is 15 to 20% faster.
  int warm_ups = 6;
  double warm_up_seconds = 0.25;
  int iterations = 9;
  double seconds = 0.15;
  double deadline_seconds = 120;  // for any one wait
};

// The mode in which one side alone is measured on this machine: with the same warm-up, iterations
// and seconds as the pair.
Mode alone_mode(const PairMode& mode, const Machine& machine);

// When one side of an iteration ran on a rank, in seconds since the rank's first side began.
struct PairSpan {
  double begin = 0, end = 0;
};

struct PairIteration {
  std::vector<PairSpan> first, second;  // by rank, of all processes

  double first_seconds() const;  // the slowest rank's
  double second_seconds() const;
  double together() const;  // from the first side's begin to the later end, the slowest rank's
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

  // Collective: all processes call it with the same Works and mode. Prepares both Works, runs each
  // once alone, warms up, samples, verifies and releases. The run
  // alone comes first because libraries load kernels at their first launch, and loading waits for
  // the whole device. Each side has a stream with its placement's priority and compute units.
  // `after` may run both again, one iteration a call; its Rerun::seconds is
  // PairIteration::together(). Throws
  // - what the Works throw;
  // - Timeout, which names what was waited for;
  // - Interrupted if `stop` returns true, in any process, before an iteration;
  // - BadArgument if a Work is host-driven.
  PairSampling measure(Work& first, const Placement& first_placement, Work& second,
                       const Placement& second_placement, const PairMode& mode,
                       const AfterSamples& after = {});

 private:
  Team& team_;
  std::function<bool()> stop_;
};

}  // namespace duet
