// A policy is an engine for the collective, an order, and priorities of streams.
#include "overlap/runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/collective_work.h"
#include "core/error.h"
#include "gemm/gemm_work.h"
#include "timing/repeated.h"
#include "timing/sampler.h"
#include "timing/statistics.h"

namespace duet {
namespace {

using Kind = OverlapPolicy::Kind;

template <class Seconds>
double median_of(const PairSampling& sampling, const Seconds& seconds) {
  std::vector<double> all;
  for (const PairIteration& one : sampling.iterations) all.push_back(seconds(one));
  return summarise(all).median;
}

// Of what the energy is of.
std::string compute_name(const std::string& scenario) { return scenario + ", compute"; }
std::string communication_name(const std::string& scenario, const std::string& engine) {
  return scenario + ", " + engine;
}
std::string together_name(const std::string& scenario, const std::string& policy) {
  return scenario + ", both, " + policy;
}

bool by_dma(Kind kind) { return kind == Kind::dma || kind == Kind::dma_partition; }

// Of one piece of the scenario.
GemmWork compute_of(GemmEngine& engine, const OverlapScenario& scenario, int ranks) {
  return GemmWork(engine, problem_of(scenario), {}, ranks);
}

// Compute first only where the policy says so: what needs few units comes first, or it waits.
bool compute_goes_first(Kind kind) { return kind == Kind::serial || kind == Kind::base; }

void require_built(const OverlapPolicy& policy) {
  if (!has_partition(policy.kind)) return;
  throw Unavailable(name(policy) + ": partitions of compute units are not built yet");
}

}  // namespace

OverlapEngines overlap_engines(const std::string& device_kind) {
  if (device_kind == "cuda") return {"nccl", "nccl-zero-cta", "cublas"};
  if (device_kind == "hip") return {"rccl", "rccl-zero-cta", ""};
  if (device_kind == "sim") return {"vendor-model", "zero-cta", "model"};
  return {"kernel", "zero-cta", "duet"};
}

OverlapRunner::OverlapRunner(Machine& machine, const PairMode& mode, std::function<bool()> stop)
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

CollectiveEngine& OverlapRunner::engine(const std::string& name) const {
  for (CollectiveEngine* each : collectives_.engines) {
    if (each->name() == name) return *each;
  }
  throw Unavailable(fmt::format("overlap: {} has no collectives by {}", machine_.name(), name));
}

std::string OverlapRunner::engine_name(const OverlapPolicy& policy) const {
  if (by_dma(policy.kind)) return "dma";
  return policy.kind == Kind::zero_cta ? engines_.zero_cta : engines_.vendor;
}

void OverlapRunner::take_energy(double seconds) {
  energy_ = std::make_unique<EnergyProbe>(energy_source(sessions_.team()), seconds,
                                          mode_.deadline_seconds, stop_);
}

AfterSamples OverlapRunner::energy_of(const std::string& name) {
  return energy_ != nullptr ? energy_->take(name) : AfterSamples();
}

void OverlapRunner::add_energy(OverlapResult& result, const Work& communication,
                               const std::string& scenario, const std::string& policy) const {
  if (!energy_->unavailable().empty()) {
    result.together.warnings.push_back("no energy: " + energy_->unavailable());
    return;
  }
  result.draw = energy_->draw(together_name(scenario, policy), compute_name(scenario),
                              communication_name(scenario, result.engine));
  result.draw->wire_bytes = communication.cost().wire_bytes;
}

double OverlapRunner::alone(Work& piece, int pieces, const std::string& name) {
  Repeated work(piece, pieces);
  Mode mode;
  mode.warm_up_iterations = mode_.warm_ups;
  mode.min_iterations = mode.max_iterations = mode_.iterations;
  mode.relative_interval = 0;
  mode.deadline_seconds = mode_.deadline_seconds;
  return summarise(
             Sampler(sessions_.team(), stop_).measure(work, mode, {}, energy_of(name)).samples)
      .median;
}

double OverlapRunner::compute_alone(const OverlapScenario& scenario) {
  const auto found = compute_.find(scenario.name);
  if (found != compute_.end()) return found->second;
  GemmWork work = compute_of(*gemm_, scenario, machine_.size());
  return compute_[scenario.name] = alone(work, scenario.pieces, compute_name(scenario.name));
}

double OverlapRunner::communication_alone(const OverlapScenario& scenario,
                                          const std::string& engine_name) {
  const auto key = std::make_pair(scenario.name, engine_name);
  const auto found = communication_.find(key);
  if (found != communication_.end()) return found->second;
  CollectiveWork work(sessions_.team(), sessions_.session(engine(engine_name)),
                      collective_of(scenario, machine_.size()), false);
  return communication_[key] =
             alone(work, scenario.pieces, communication_name(scenario.name, engine_name));
}

OverlapResult OverlapRunner::run(const OverlapScenario& scenario, const OverlapPolicy& policy) {
  require_built(policy);
  check_scenario(scenario, machine_.size());
  try {
    return measure(scenario, policy);
  } catch (const Unavailable&) {
    throw;
  } catch (const std::exception&) {
    sessions_.close();
    throw;
  }
}

OverlapResult OverlapRunner::measure(const OverlapScenario& scenario, const OverlapPolicy& policy) {
  OverlapResult result;
  result.engine = engine_name(policy);
  result.compute_first = compute_goes_first(policy.kind);
  OverlapTimes& t = result.times;
  t.compute = t.least_compute = compute_alone(scenario);
  t.communication = communication_alone(scenario, engines_.vendor);
  t.engine = communication_alone(scenario, result.engine);
  t.least_communication = std::min(t.communication, t.engine);

  GemmWork gemm = compute_of(*gemm_, scenario, machine_.size());
  CollectiveWork collective(sessions_.team(), sessions_.session(engine(result.engine)),
                            collective_of(scenario, machine_.size()), false);
  Repeated compute(gemm, scenario.pieces), communication(collective, scenario.pieces);
  const int highest = machine_.device(0).info().priorities - 1;
  const Placement normal{}, urgent{result.compute_first ? 0 : highest};
  PairMode mode = mode_;
  mode.serial = policy.kind == Kind::serial;
  const AfterSamples after = energy_of(together_name(scenario.name, name(policy)));
  PairSampler sampler(sessions_.team(), stop_);
  result.together = result.compute_first
                        ? sampler.measure(compute, normal, communication, urgent, mode, after)
                        : sampler.measure(communication, urgent, compute, normal, mode, after);
  const auto first = [](const PairIteration& one) { return one.first_seconds(); };
  const auto second = [](const PairIteration& one) { return one.second_seconds(); };
  t.together = median_of(result.together, [](const PairIteration& one) { return one.together(); });
  t.compute_beside =
      result.compute_first ? median_of(result.together, first) : median_of(result.together, second);
  t.communication_beside =
      result.compute_first ? median_of(result.together, second) : median_of(result.together, first);
  result.metrics = overlap_metrics(t);
  result.balance = balance(t.compute, t.communication);
  if (energy_ != nullptr) add_energy(result, communication, scenario.name, name(policy));
  return result;
}

}  // namespace duet
