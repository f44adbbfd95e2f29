// Sides alone; see isolated_runner.h.
#include "overlap/isolated_runner.h"

#include <fmt/format.h>

#include "collectives/collective_work.h"
#include "core/error.h"
#include "gemm/gemm_work.h"

namespace duet {

IsolatedRunner::IsolatedRunner(Machine& machine, const PairMode& mode, std::function<bool()> stop)
    : machine_(machine),
      mode_(mode),
      stop_(std::move(stop)),
      engines_(overlap_engines(machine.device(0).info().kind)),
      collectives_(collective_engines(machine.device(0).info().kind)),
      sessions_(machine, nullptr) {
  for (GemmEngine* each : gemm_engines(machine.device(0).info().kind).engines) {
    if (each->name() == engines_.gemm) gemm_ = each;
  }
  if (gemm_ != nullptr) return;
  throw Unavailable(fmt::format("overlap: {} has no engine for GEMMs", machine.name()));
}

Sampling IsolatedRunner::alone(Work& work, const Placement& placement) {
  Mode mode;
  mode.warm_up_iterations = mode_.warm_ups;
  mode.min_iterations = mode.max_iterations = mode_.iterations;
  mode.relative_interval = 0;
  mode.deadline_seconds = mode_.deadline_seconds;
  return Sampler(sessions_.team(), stop_).measure(work, mode, placement);
}

IsolatedResult IsolatedRunner::compute(const GemmProblem& problem, int units) {
  const DeviceInfo& info = machine_.device(0).info();
  if (units > 0 && info.unit_grain == 0) {
    throw Unavailable(
        fmt::format("{} cannot keep compute to some of its compute units", info.name));
  }
  GemmWork work(*gemm_, problem, {}, machine_.size());
  IsolatedResult result;
  result.sampling = alone(work, {0, units});
  result.cost = work.cost();
  result.algorithm = work.algorithm();
  return result;
}

IsolatedResult IsolatedRunner::communication(const Collective& collective,
                                             const std::string& engine_name, int units) {
  CollectiveWork work(sessions_.team(), sessions_.session(engine(engine_name, units)), collective,
                      false);
  IsolatedResult result;
  result.sampling = alone(work, {});
  result.cost = work.cost();
  result.algorithm = work.algorithm();
  return result;
}

CollectiveEngine& IsolatedRunner::engine(const std::string& name, int units) {
  CollectiveEngine* whole = nullptr;
  for (CollectiveEngine* each : collectives_.engines) {
    if (each->name() == name) whole = each;
  }
  if (whole == nullptr) {
    throw Unavailable(fmt::format("overlap: {} has no collectives by {}", machine_.name(), name));
  }
  if (units == 0) return *whole;
  std::unique_ptr<CollectiveEngine>& limited = limited_[{name, units}];
  if (limited == nullptr) limited = whole->limited(units);
  if (limited != nullptr) return *limited;
  throw Unavailable(fmt::format("{} cannot be kept to some of the compute units", name));
}

}  // namespace duet
