// One side of an overlap alone, on all of the device's units or on some.
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

class IsolatedRunner {
 public:
  // As OverlapRunner.
  IsolatedRunner(Machine& machine, const PairMode& mode, std::function<bool()> stop);

  // On so many units (0: all), which of the engines only the default library can be kept to. Throw
  // Unavailable for what the machine does not have or cannot limit, and what the works throw.
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
