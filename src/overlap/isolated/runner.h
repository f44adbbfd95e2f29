#pragma once

#include <functional>
#include <string>

#include "overlap/engines.h"
#include "timing/pair_sampler.h"
#include "timing/sampler.h"

namespace duet {

struct IsolatedResult {
  Sampling sampling;
  Cost cost;
  std::string algorithm;
};

// Measures one side of a scenario alone, on all compute units of the device or on fewer.
class IsolatedRunner {
 public:
  // The parameters have the meaning that they have in OverlapRunner.
  IsolatedRunner(Machine& machine, const PairMode& mode, std::function<bool()> stop);

  // Measure a side on `units` compute units (0: all). Of the collective engines only the vendor's
  // library can be limited to some units. They throw Unavailable for what the machine does not have
  // or cannot limit, and what the works throw.
  IsolatedResult compute(const GemmProblem& problem, int units);
  IsolatedResult communication(const Collective& collective, const std::string& engine, int units);

 private:
  Sampling alone(Work& work, const Placement& placement);
  std::string bounded(const std::string& engine, int units);

  Machine& machine_;
  PairMode mode_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
};

}  // namespace duet
