#include "overlap/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "overlap/side_work.h"
#include "timing/statistics.h"

namespace duet {
namespace {

template <class Seconds>
double median_of(const BesideSampling& sampling, const Seconds& seconds) {
  std::vector<double> all;
  for (const BesideIteration& one : sampling.iterations) all.push_back(seconds(one));
  return summarise(all).median;
}

std::string together_name(const OverlapScenario& scenario, const OverlapPolicy& policy) {
  return fmt::format("{}, both, {}", full_name(scenario), name(policy));
}

// Communication goes first wherever the policy does not say otherwise: it needs few compute units,
// but behind a GEMM it would wait for them.
bool compute_goes_first(OverlapPolicyKind kind) {
  return kind == OverlapPolicyKind::serial || kind == OverlapPolicyKind::base;
}

// Streams of copy-engine policies get the priority too, so that their semaphores and events do not
// wait behind compute.
bool has_priority(OverlapPolicyKind kind) {
  return kind == OverlapPolicyKind::priority || kind == OverlapPolicyKind::priority_partition ||
         kind == OverlapPolicyKind::zero_cta || by_dma(kind);
}

bool chooses_engine(OverlapPolicyKind kind) {
  return kind == OverlapPolicyKind::zero_cta || by_dma(kind);
}

void take_times(OverlapResult& result) {
  OverlapTimes& t = result.times;
  const auto beside = [&result](std::size_t place) {
    return median_of(result.together,
                     [place](const BesideIteration& one) { return one.seconds(place); });
  };
  t.together =
      median_of(result.together, [](const BesideIteration& one) { return one.together(); });
  t.compute_beside = beside(result.compute_place());
  t.communication_beside = beside(result.communication_place());
  if (t.copy > 0) t.copy_beside = beside(OverlapResult::kCopyPlace);
  result.metrics = overlap_metrics(t);
  result.balance = balance(t.compute, t.communication);
}

}  // namespace

OverlapRunner::OverlapRunner(Machine& machine, OverlapRuns runs, std::function<bool()> stop,
                             const OverlapRanks& ranks)
    : runs_(std::move(runs)),
      stop_(std::move(stop)),
      engines_(machine, ranks),
      energy_(runs_.energy_seconds > 0 ? std::make_unique<EnergyProbe>(
                                             energy_source(engines_.team()), runs_.energy_seconds,
                                             runs_.mode.deadline_seconds, stop_)
                                       : nullptr),
      alone_(engines_, runs_.mode, energy_.get(), stop_) {}

void OverlapRunner::add_energy(OverlapResult& result, const OverlapScenario& scenario,
                               double wire_bytes) const {
  if (!energy_->unavailable().empty()) {
    result.together.warnings.push_back("no energy: " + energy_->unavailable());
    return;
  }
  result.draw =
      energy_->draw(together_name(scenario, result.policy), AloneTimes::compute_name(scenario),
                    AloneTimes::communication_name(scenario, result.engine),
                    scenario.copy ? AloneTimes::copy_name(scenario) : "");
  result.draw->wire_bytes = wire_bytes;
}

void OverlapRunner::measure_together(const OverlapScenario& scenario, OverlapResult& result) {
  Team& team = engines_.team();
  SideWork compute = SideWork::computing(engines_, scenario);
  SideWork communication = SideWork::communicating(engines_, scenario, result.engine);
  const int highest = team.local_rank(0).device.info().priorities - 1;
  const Placement beside{0, engines_.units_for_compute(result.policy)};
  const Placement urgent{has_priority(result.policy.kind) ? highest : 0};
  BesideMode mode = runs_.mode;
  mode.serial = result.policy.kind == OverlapPolicyKind::serial;
  const AfterSamples after =
      energy_ != nullptr ? energy_->take(together_name(scenario, result.policy)) : AfterSamples();
  BesideSampler sampler(team, stop_);
  const PlacedWork of_compute{compute.all(), beside}, of_communication{communication.all(), urgent};
  std::vector<PlacedWork> works = result.compute_first
                                      ? std::vector<PlacedWork>{of_compute, of_communication}
                                      : std::vector<PlacedWork>{of_communication, of_compute};
  std::optional<SideWork> copy;
  if (scenario.copy) {
    copy.emplace(SideWork::copying(engines_, scenario));
    works.push_back({copy->all()});
  }
  result.together = sampler.measure(works, mode, after);
  result.algorithm = compute.algorithm();
  if (energy_ != nullptr) add_energy(result, scenario, communication.all().cost().wire_bytes);
}

OverlapResult OverlapRunner::measure(const OverlapScenario& scenario, const OverlapPolicy& policy) {
  OverlapResult result;
  result.policy = policy;
  result.engine = engines_.of(policy, scenario.communication);
  require_possible(policy, scenario, result.engine);
  result.compute_first = compute_goes_first(policy.kind);
  std::vector<int> left;  // units that each partition of the sweep leaves to compute
  for (const int units : runs_.sweep)
    left.push_back(engines_.units_for_compute({OverlapPolicyKind::partition, units}));
  result.times.compute = alone_.compute(scenario, 0);
  result.times.least_compute = alone_.least_compute(scenario, left);
  result.times.communication =
      alone_.communication(scenario, engines_.usual(scenario.communication));
  result.times.engine = alone_.communication(scenario, result.engine);
  result.times.copy = alone_.copy(scenario);
  result.times.least_communication =
      std::min(result.times.engine, alone_.least_communication(scenario));
  measure_together(scenario, result);
  take_times(result);
  return result;
}

void OverlapRunner::require_possible(const OverlapPolicy& policy, const OverlapScenario& scenario,
                                     const std::string& engine) const {
  const bool collective = std::holds_alternative<CollectiveSide>(scenario.communication);
  if (!collective && (chooses_engine(policy.kind) || has_partition(policy.kind))) {
    throw Unavailable(
        fmt::format("{}: expected a collective to choose an engine or units for, not {}",
                    name(policy), name(scenario.communication)));
  }
  if (!has_partition(policy.kind) || by_dma(policy.kind) || engine != engines_.vendor()) return;
  throw Unavailable(fmt::format("{}: {} cannot be restricted to some of the compute units",
                                name(policy), engine));
}

const OverlapResult& OverlapRunner::point(const OverlapScenario& scenario,
                                          const OverlapPolicy& policy) {
  const auto found = points_.find(name(policy));
  if (found != points_.end()) return found->second;
  return points_.emplace(name(policy), measure(scenario, policy)).first->second;
}

OverlapResult OverlapRunner::best_of_sweep(const OverlapScenario& scenario,
                                           OverlapPolicyKind kind) {
  if (runs_.sweep.empty()) {
    engines_.units_for_compute({kind, 0});
    throw UsageError(name(OverlapPolicy{kind, 0}) + ": expected partitions to try");
  }
  const OverlapResult* best = nullptr;
  for (const int units : runs_.sweep) {
    const OverlapResult& one = point(scenario, {kind, units});
    if (best == nullptr || one.times.together < best->times.together) best = &one;
  }
  return *best;
}

OverlapResult OverlapRunner::run(const OverlapScenario& scenario, const OverlapPolicy& policy) {
  check_scenario(scenario, engines_.team().size());
  if (policy.units > 0) engines_.units_for_compute(policy);  // throws before anything is measured
  if (scenario_ != full_name(scenario)) points_.clear();
  scenario_ = full_name(scenario);
  alone_.begin(scenario);
  try {
    if (!has_partition(policy.kind)) return measure(scenario, policy);
    return policy.units == 0 ? best_of_sweep(scenario, policy.kind) : point(scenario, policy);
  } catch (const Unavailable&) {
    throw;
  } catch (const std::exception&) {
    engines_.close();
    throw;
  }
}

}  // namespace duet
