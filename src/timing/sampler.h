// Turns a Work into samples. Two Works at once are timed by pair_sampler.h, messages by src/fabric;
// a time that only chooses (a tuner's candidate, the fastest loop of a CPU's peak) is no sample.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "team/team.h"
#include "timing/mode.h"
#include "timing/rerun.h"
#include "timing/statistics.h"
#include "timing/work.h"

namespace duet {

struct Sampling {
  std::vector<double> samples;  // seconds; the slowest rank's of each iteration
  std::string stopped_by;       // "interval", "time", "iterations"
  int warm_ups = 0;
  bool flushed = false;
  std::string mode;
  bool verified = false;
  std::vector<Telemetry> telemetry;  // one rank's: before, (sustained: a reading a window,) after
  std::vector<std::string> warnings;
};

// Produces samples for the measuring loop; the real one drives streams, tests bring a fake.
class Trial {
 public:
  virtual ~Trial() = default;
  // Runs `iterations` and returns a sample for each (`grouped`: one sample, their mean).
  virtual std::vector<double> run(int iterations, bool grouped) = 0;
  virtual double now() = 0;  // seconds
  virtual void reading(std::vector<Telemetry>&) {}
};

// The measuring loop on its own: warm up, sample, stop. `stop` is asked between batches; if it
// says true the loop throws Interrupted.
Sampling sample(Trial& trial, const Mode& mode, const std::function<bool()>& stop = {});

class Sampler {
 public:
  explicit Sampler(Team& team, std::function<bool()> stop = {})
      : team_(team), stop_(std::move(stop)) {}

  // Prepares, warms up, samples, verifies and releases. The result is verified unless the Work
  // says why it cannot be (a warning then). `after` may run it again, some iterations behind one
  // start gate.
  Sampling measure(Work& work, const Mode& mode, const Placement& placement = {},
                   const AfterSamples& after = {});

  Team& team() { return team_; }

 private:
  Team& team_;
  std::function<bool()> stop_;
};

}  // namespace duet
