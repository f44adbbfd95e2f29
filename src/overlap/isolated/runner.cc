#include "overlap/isolated/runner.h"

#include <fmt/format.h>

#include "collectives/collective_work.h"
#include "core/error.h"
#include "gemm/gemm_work.h"

namespace duet {

IsolatedRunner::IsolatedRunner(Machine& machine, const PairMode& mode, std::function<bool()> stop)
    : machine_(machine), mode_(mode), stop_(std::move(stop)), engines_(machine) {}

Sampling IsolatedRunner::alone(Work& work, const Placement& placement) {
  return Sampler(engines_.team(), stop_).measure(work, alone_mode(mode_, machine_), placement);
}

IsolatedResult IsolatedRunner::compute(const GemmProblem& problem, int units) {
  const DeviceInfo& info = machine_.device(0).info();
  if (units > 0 && info.unit_grain == 0) {
    throw Unavailable(
        fmt::format("{} cannot restrict compute to some of its compute units", info.name));
  }
  GemmWork work(engines_.gemm(), problem, {}, machine_.size());
  IsolatedResult result;
  result.sampling = alone(work, {0, units});
  result.cost = work.cost();
  result.algorithm = work.algorithm();
  return result;
}

IsolatedResult IsolatedRunner::communication(const Collective& collective,
                                             const std::string& engine, int units) {
  CollectiveWork work(engines_.team(), engines_.session(bounded(engine, units), collective, false),
                      collective, false);
  IsolatedResult result;
  try {
    result.sampling = alone(work, {});
  } catch (const Unavailable&) {
    throw;
  } catch (const std::exception&) {
    engines_.close();
    throw;
  }
  result.cost = work.cost();
  result.algorithm = work.algorithm();
  return result;
}

std::string IsolatedRunner::bounded(const std::string& engine, int units) {
  if (units == 0) return engine;
  const std::string found = engines_.of({OverlapPolicyKind::partition, units});
  if (engine == engines_.vendor() && found != engine) return found;
  throw Unavailable(fmt::format("{} cannot be restricted to some of the compute units", engine));
}

}  // namespace duet
