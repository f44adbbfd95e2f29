// Times one Work. Several Works at once are timed by beside_sampler.h, network messages by
// src/fabric.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "team/team.h"
#include "timing/mode.h"
#include "timing/statistics.h"
#include "timing/work.h"

namespace duet {

// Runs prepared Works again after their samples were taken, for figures that take longer than a
// sample (power).
struct Rerun {
  int iterations = 0;  // each as long as one sample
  double seconds = 0;  // the sum of their times, without the gaps between them
};

// Runs some iterations in the way the samples were run. Throws Interrupted if the user wants to
// end, and what the Works throw.
using RunAgain = std::function<Rerun()>;
// Called once, between the last sample and the verification.
using AfterSamples = std::function<void(const RunAgain&)>;

struct Sampling {
  std::vector<double> samples;  // seconds of a call on the slowest rank, in the order taken
  std::string stopped_by;       // "interval", "time", "iterations"
  int warm_ups = 0;
  bool flushed = false;
  std::string mode;
  bool verified = false;
  // Clocks and power of the first local rank: before and after the samples; in mode sustained also
  // after each window.
  std::vector<Telemetry> telemetry;
  std::vector<std::string> warnings;
};

// Where the measuring loop gets its samples: StreamTrial drives streams; tests pass a fake.
class Trial {
 public:
  virtual ~Trial() = default;
  // Runs `iterations` and returns one sample, in seconds, for each. `grouped`: returns a single
  // sample, the mean.
  virtual std::vector<double> run(int iterations, bool grouped) = 0;
  virtual double now() = 0;  // seconds of the clock by which the loop decides when to stop
  // Appends a reading of clocks and power, if the device has them.
  virtual void reading(std::vector<Telemetry>&) {}
};

// The measuring loop: warms up and samples until the mode's stopping rule ends it. Calls `stop`
// before each batch and throws Interrupted if it returns true. Sets all of Sampling but `verified`.
Sampling sample(Trial& trial, const Mode& mode, const std::function<bool()>& stop = {});

class Sampler {
 public:
  explicit Sampler(Team& team, std::function<bool()> stop = {})
      : team_(team), stop_(std::move(stop)) {}

  // Prepares, warms up, samples, verifies and releases the Work. Collective: all processes call it
  // with the same Work and mode. `after` is called between the last sample and the verification,
  // and may run the Work again, up to 16 iterations behind one start gate. If the Work cannot be
  // verified, the reason is a warning. Throws what the Work throws, and Interrupted.
  Sampling measure(Work& work, const Mode& mode, const Placement& placement = {},
                   const AfterSamples& after = {});

  // Measures several Works by turns: in each round every one makes a group of calls behind a start
  // gate of its own, whose mean time is a sample, so that clocks, temperature and other programs
  // are the same for all. Ends when the median's interval is as narrow as the mode asks for all of
  // them, or after mode.seconds for each or mode.max_iterations rounds; after mode.min_iterations
  // rounds at least. The mode is adaptive. Otherwise as measure(); `after` is of the first Work.
  std::vector<Sampling> measure_by_turns(const std::vector<Work*>& works, const Mode& mode,
                                         const Placement& placement = {},
                                         const AfterSamples& after = {});

  Team& team() { return team_; }

 private:
  Team& team_;
  std::function<bool()> stop_;
};

}  // namespace duet
