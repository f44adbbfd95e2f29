#include "overlap/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/units.h"
#include "overlap/runner.h"

namespace duet {
namespace {

CaseId case_id(const OverlapScenario& scenario, const OverlapPolicy& policy,
               const std::string& engine, int ranks, const std::string& device) {
  const auto bytes = static_cast<std::int64_t>(bytes_of(scenario.communication));
  Axes axes{{"scenario", scenario.name},
            {"origin", scenario.source},
            {"compute", name_with_bytes(scenario.compute)},
            {"collective", name(scenario.communication)},
            {"bytes", bytes},
            {"in_place", scenario.in_place},
            {"pieces", std::int64_t{scenario.pieces}},
            {"policy", name(policy)},
            {"ranks", std::int64_t{ranks}}};
  if (scenario.copy) {
    axes.set("copy",
             fmt::format("{} {} {}", name(scenario.copy->kind), name(scenario.copy->executor),
                         format_bytes(scenario.copy->bytes)));
  }
  return {"overlap", device, engine, std::move(axes)};
}

std::vector<std::pair<std::string, double>> metrics_of(const OverlapResult& result) {
  const OverlapMetrics& m = result.metrics;
  std::vector<std::pair<std::string, double>> all;
  if (m.fraction_of_ideal) all.emplace_back("fraction_of_ideal", *m.fraction_of_ideal);
  all.insert(all.end(), {{"bound", m.bound},
                         {"speedup", m.speedup},
                         {"ideal_speedup", m.ideal_speedup},
                         {"compute_slowdown", m.compute_slowdown},
                         {"communication_slowdown", m.communication_slowdown},
                         {"compute_seconds", result.times.compute},
                         {"communication_seconds", result.times.communication},
                         {"engine_seconds", result.times.engine}});
  if (m.copy_slowdown) {
    all.insert(all.end(),
               {{"copy_slowdown", *m.copy_slowdown}, {"copy_seconds", result.times.copy}});
  }
  return all;
}

void add_energy(Measurement& measurement, const OverlapDraw& draw) {
  const OverlapEnergy energy = overlap_energy(draw);
  auto& all = measurement.metrics;
  all.insert(all.end(), {{"joules_together", draw.together.joules},
                         {"joules_compute", draw.compute.joules},
                         {"joules_communication", draw.communication.joules},
                         {"joules_transfer", energy.transfer_joules},
                         {"idle_watts", draw.idle_watts},
                         {"energy_resolution", draw.resolution}});
  const auto add = [&all](const char* metric, const std::optional<double>& value) {
    if (value) all.emplace_back(metric, *value);
  };
  if (draw.copy) all.emplace_back("joules_copy", draw.copy->joules);
  add("joules_per_gb", energy.joules_per_gb);
  add("joules_per_gb_beside", energy.joules_per_gb_beside);
  add("power_estimate_seconds", energy.power_estimate_seconds);
  if (draw.watts_limit > 0) all.emplace_back("watts_limit", draw.watts_limit);
}

std::vector<RankTimeline> timeline(const OverlapResult& result) {
  const BesideIteration& last = result.together.iterations.back();
  const std::vector<WorkSpan>& compute = last.works[result.compute_place()];
  const std::vector<WorkSpan>& communication = last.works[result.communication_place()];
  std::vector<RankTimeline> ranks;
  for (std::size_t rank = 0; rank < compute.size(); ++rank) {
    ranks.push_back({compute[rank], communication[rank]});
    if (last.works.size() <= OverlapResult::kCopyPlace) continue;
    ranks.back().also = last.works[OverlapResult::kCopyPlace][rank];
  }
  return ranks;
}

Measurement measurement_of(const CaseId& id, const OverlapResult& result) {
  Measurement measurement;
  measurement.id = id;
  Sampling sampling;
  for (const BesideIteration& one : result.together.iterations) {
    sampling.samples.push_back(one.together());
  }
  sampling.stopped_by = "iterations";
  sampling.mode = "beside";
  sampling.warm_ups = result.together.warm_ups;
  sampling.verified = result.together.verified;
  sampling.warnings = result.together.warnings;
  measurement.sampling = sampling;
  measurement.metrics = metrics_of(result);
  measurement.notes = {{"class", std::string(name(result.balance))},
                       {"measured_policy", name(result.policy)}};
  if (!result.algorithm.empty()) {
    measurement.notes.emplace_back("gemm_algorithm", result.algorithm);
  }
  measurement.timeline = timeline(result);
  if (result.draw) add_energy(measurement, *result.draw);
  return measurement;
}

void add_fitted(Measurement& measurement, const FittedTraffic* fitted) {
  if (fitted == nullptr) return;
  measurement.notes.emplace_back(
      "fitted_scenario", fmt::format("the GEMM's memory traffic, {} times A, B and C, to {}",
                                     fitted->traffic, fitted->fitted_to));
}

std::vector<OverlapPolicy> with_sweeps(const OverlapOptions& options) {
  std::vector<OverlapPolicy> all;
  const auto add = [&all](const OverlapPolicy& policy) {
    if (std::find(all.begin(), all.end(), policy) == all.end()) all.push_back(policy);
  };
  for (const OverlapPolicy& policy : options.policies) {
    const bool swept = has_partition(policy.kind) && policy.units == 0;
    for (const int units : swept ? options.runs.sweep : std::vector<int>{}) {
      add({policy.kind, units});
    }
    add(policy);
  }
  return all;
}

struct Scenario {
  std::string name;
  bool in_place;
  std::vector<const Finished*> cases;
};

std::string kind_of(const Finished& one) {
  const std::string policy = one.id.axes.text("policy").value_or("");
  return policy.substr(0, policy.find(':'));
}

std::vector<Scenario> scenarios_of(const std::vector<Finished>& finished) {
  std::vector<Scenario> all;
  for (const Finished& one : finished) {
    if (one.id.benchmark != "overlap" || one.median_seconds <= 0) continue;
    const std::string name = one.id.axes.text("scenario").value_or("");
    const bool in_place = one.id.axes.flag("in_place").value_or(false);
    const auto same = std::find_if(all.begin(), all.end(), [&](const Scenario& each) {
      return each.name == name && each.in_place == in_place;
    });
    if (same != all.end()) {
      same->cases.push_back(&one);
    } else {
      all.push_back({name, in_place, {&one}});
    }
  }
  return all;
}

Measurement best_of(const Scenario& scenario) {
  const auto faster = [](const Finished* a, const Finished* b) {
    return a->median_seconds < b->median_seconds;
  };
  const Finished& best = **std::min_element(scenario.cases.begin(), scenario.cases.end(), faster);
  double next = 0;
  for (const Finished* each : scenario.cases) {
    if (kind_of(*each) == kind_of(best)) continue;
    next = next > 0 ? std::min(next, each->median_seconds) : each->median_seconds;
  }
  Measurement measurement;
  measurement.id = {"overlap_best", best.id.device, best.id.engine, {}};
  for (const char* name : {"scenario", "origin", "collective", "in_place", "policy", "ranks"}) {
    if (const AxisValue* value = best.id.axes.find(name)) measurement.id.axes.set(name, *value);
  }
  measurement.rates = {{"best_seconds", best.median_seconds}};
  if (next > 0) measurement.rates.emplace_back("ahead", next / best.median_seconds);
  return measurement;
}

}  // namespace

Benchmark overlap_benchmark(Machine& machine, const OverlapOptions& options,
                            std::function<bool()> stop) {
  const auto runner =
      std::make_shared<OverlapRunner>(machine, options.runs, std::move(stop), options.ranks);
  const int ranks = runner->engines().team().size();
  Benchmark benchmark;
  for (const OverlapScenario& scenario : options.scenarios) {
    check_scenario(scenario, ranks);
    for (const OverlapPolicy& policy : with_sweeps(options)) {
      const CaseId id =
          case_id(scenario, policy, runner->engines().of(policy, scenario.communication), ranks,
                  options.device_name);
      benchmark.cases.push_back(
          {id,
           [runner, id, scenario, policy] {
             Measurement one = measurement_of(id, runner->run(scenario, policy));
             add_fitted(one, fitted_traffic(scenario, runner->engines().team().machine()));
             return one;
           },
           std::nullopt});
    }
  }
  benchmark.conclude = fastest_policies;
  return benchmark;
}

std::vector<Measurement> fastest_policies(const std::vector<Finished>& finished) {
  std::vector<Measurement> all;
  for (const Scenario& scenario : scenarios_of(finished)) {
    if (scenario.cases.size() > 1) all.push_back(best_of(scenario));
  }
  return all;
}

}  // namespace duet
