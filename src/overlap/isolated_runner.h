// One side of an overlap alone, on all of the device's units or on some.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "collectives/open_sessions.h"
#include "gemm/engine.h"
#include "overlap/runner.h"
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

  // On so many units (0: all). Throw Unavailable for what the machine does not have or cannot
  // limit, and what the works throw.
  IsolatedResult compute(const GemmProblem& problem, int units);
  IsolatedResult communication(const Collective& collective, const std::string& engine, int units);

  const OverlapEngines& engines() const { return engines_; }

 private:
  CollectiveEngine& engine(const std::string& name, int units);
  Sampling alone(Work& work, const Placement& placement);

  Machine& machine_;
  PairMode mode_;
  std::function<bool()> stop_;
  OverlapEngines engines_;
  GemmEngine* gemm_ = nullptr;
  CollectiveEngines collectives_;
  // Bounded to some units, by name and units; they outlive their sessions.
  std::map<std::pair<std::string, int>, std::unique_ptr<CollectiveEngine>> limited_;
  OpenSessions sessions_;
};

}  // namespace duet
