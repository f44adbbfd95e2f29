// Times several Works that run at the same time: each of them, and all together.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "timing/mode.h"
#include "timing/sampler.h"
#include "timing/work.h"

namespace duet {

struct BesideMode {
  // Run the second Work after the first, on one stream. All others have streams of their own.
  bool serial = false;
  // How much later than the first Work's stream the others are released, so that the first
  // occupies the device before.
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

// The mode in which one Work alone is measured on this machine: with the same warm-up, iterations
// and seconds as all together.
Mode alone_mode(const BesideMode& mode, const Machine& machine);

// When a Work of an iteration ran on a rank, in seconds since the rank's first Work began.
struct WorkSpan {
  double begin = 0, end = 0;
  double seconds() const { return end - begin; }
};

struct BesideIteration {
  std::vector<std::vector<WorkSpan>> works;  // by Work, then by rank, of all processes

  double seconds(std::size_t work) const;  // the slowest rank's
  // From the first Work's begin to the end of the last one, the slowest rank's.
  double together() const;
};

struct BesideSampling {
  std::vector<BesideIteration> iterations;
  int warm_ups = 0;
  bool verified = false;
  std::vector<std::string> warnings;
};

struct PlacedWork {
  Work& work;
  Placement placement = {};
};

// What Works run by turns, so that clocks, temperature and other programs are the same for all.
struct BesideTurns {
  int count = 1;
  // Makes the Works those of this turn, before each iteration of it, in every process; no rank
  // runs. What is verified is turn 0.
  std::function<void(int turn)> begin = {};
};

class BesideSampler {
 public:
  explicit BesideSampler(Team& team, std::function<bool()> stop = {})
      : team_(team), stop_(std::move(stop)) {}

  // Collective: all processes call it with the same Works and mode. Prepares the Works, runs each
  // once alone, warms up, samples, verifies and releases. The run
  // alone comes first because libraries load kernels at their first launch, and loading waits for
  // the whole device. Each Work has a stream with its placement's priority and compute units.
  // `after` may run them all again, one iteration a call; its Rerun::seconds is
  // BesideIteration::together(). Throws
  // - what the Works throw;
  // - Timeout, which names what was waited for;
  // - Interrupted if `stop` returns true, in any process, before an iteration;
  // - BadArgument if there is no Work, or one is host-driven.
  BesideSampling measure(const std::vector<PlacedWork>& works, const BesideMode& mode,
                         const AfterSamples& after = {});

  // As measure(), in rounds of an iteration of each turn: a sampling for each, with the time that
  // the mode gives to one. All have the warnings of one verification.
  std::vector<BesideSampling> measure_by_turns(const std::vector<PlacedWork>& works,
                                               const BesideMode& mode, const BesideTurns& turns,
                                               const AfterSamples& after = {});

 private:
  Team& team_;
  std::function<bool()> stop_;
};

}  // namespace duet
