#include "overlap/isolated/sides.h"

#include <fmt/format.h>

#include "collectives/collective_work.h"
#include "collectives/cost.h"
#include "core/error.h"
#include "gemm/gemm_work.h"

namespace duet {
namespace {

constexpr std::uint64_t kLatencyBytes = 64 << 10;  // the time at this size counts as latency alone
constexpr double kGrown = 2;  // at this multiple of the latency, half the time is bandwidth

CaseId side_id(const std::string& device, const std::string& engine, int ranks, Axes axes) {
  axes.set("ranks", std::int64_t{ranks});
  return {"overlap_isolated", device, engine, std::move(axes)};
}

double median(const IsolatedResult& result) { return summarise(result.sampling.samples).median; }

}  // namespace

IsolatedRunner::IsolatedRunner(Machine& machine, const BesideMode& mode, std::function<bool()> stop)
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

IsolatedSides::IsolatedSides(Machine& machine, const BesideMode& mode, const DevicePeaks& peaks,
                             const std::string& device_name, std::function<bool()> stop)
    : machine_(machine),
      peaks_(peaks),
      device_name_(device_name),
      names_(overlap_engine_names(machine.device(0).info().kind)),
      runner_(machine, mode, std::move(stop)) {}

CaseId IsolatedSides::compute_id(const GemmProblem& problem, int units) const {
  return side_id(device_name_, engines().gemm, machine_.size(),
                 {{"side", std::string("compute")},
                  {"work", name(problem)},
                  {"bytes", std::int64_t{0}},
                  {"units", std::int64_t{units}}});
}

CaseId IsolatedSides::communication_id(const Collective& collective, const std::string& engine,
                                       int units) const {
  return side_id(device_name_, engine, machine_.size(),
                 {{"side", std::string("communication")},
                  {"work", std::string(name(collective.kind))},
                  {"bytes", static_cast<std::int64_t>(size_bytes(collective, machine_.size()))},
                  {"units", std::int64_t{units}}});
}

Measurement IsolatedSides::measured(const CaseId& id, const IsolatedResult& result) const {
  Measurement one;
  one.id = id;
  one.sampling = result.sampling;
  one.cost = result.cost;
  if (!result.algorithm.empty()) one.notes.emplace_back("algorithm", result.algorithm);
  return one;
}

Measurement IsolatedSides::compute(const GemmProblem& problem, int units) {
  const Run run = [&](int some) { return runner_.compute(problem, some); };
  const IsolatedResult result = run(units);
  const double seconds = median(result), intensity = flop(problem) / bytes(problem);
  const int taken = units == 0 ? 0 : machine_.device(0).info().compute_units - units;
  Measurement one = measured(compute_id(problem, units), result);
  one.metrics = {{"slowdown", slowdown(name(problem), units, seconds, run)},
                 {"units_taken", double(taken)},
                 {"flop_per_byte", intensity},
                 {"memory_gb_per_s", bytes(problem) / seconds / 1e9}};
  if (const auto balance = device_flop_per_byte(problem.dtype)) {
    one.metrics.emplace_back("device_flop_per_byte", *balance);
    one.notes.emplace_back("class",
                           name(intensity < *balance ? BoundClass::memory : BoundClass::compute));
  }
  return one;
}

Measurement IsolatedSides::communication(const Collective& collective, const std::string& engine,
                                         int units) {
  const Run run = [&](int some) { return runner_.communication(collective, engine, some); };
  const IsolatedResult result = run(units);
  const double seconds = median(result);
  const std::string side =
      fmt::format("{} {} by {}", name(collective.kind), collective.count, engine);
  Measurement one = measured(communication_id(collective, engine, units), result);
  one.metrics = {{"slowdown", slowdown(side, units, seconds, run)},
                 {"memory_gb_per_s", 2 * result.cost.more.value(kBusBytes) / seconds / 1e9}};
  if (units > 0) return one;
  const bool grown = seconds > kGrown * latency(collective, engine);
  one.notes.emplace_back("class", grown ? "bandwidth-bound" : "latency-bound");
  return one;
}

// A resumed run measures the time on all units again, because earlier records are not available
// here.
double IsolatedSides::slowdown(const std::string& side, int units, double seconds, const Run& run) {
  double& whole = whole_[side];
  if (units == 0) whole = seconds;
  if (whole <= 0) whole = median(run(0));
  return seconds / whole;
}

double IsolatedSides::latency(Collective collective, const std::string& engine) {
  collective.count = count_for(collective.kind, collective.dtype, kLatencyBytes, machine_.size());
  double& known =
      whole_[fmt::format("{} {} by {}", name(collective.kind), collective.count, engine)];
  if (known <= 0) known = median(runner_.communication(collective, engine, 0));
  return known;
}

std::optional<double> IsolatedSides::device_flop_per_byte(DType dtype) const {
  const auto found = peaks_.flop_per_s.find(dtype);
  if (found == peaks_.flop_per_s.end() || peaks_.memory_bytes_per_s <= 0) return std::nullopt;
  return found->second / peaks_.memory_bytes_per_s;
}

}  // namespace duet
