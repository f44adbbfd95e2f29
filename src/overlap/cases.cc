#include "overlap/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "overlap/runner.h"

namespace duet {
namespace {

CaseId case_id(const OverlapScenario& scenario, const OverlapPolicy& policy,
               const std::string& engine, int ranks, const std::string& device) {
  const auto bytes = static_cast<std::int64_t>(bytes_of(scenario.communication));
  return {"overlap",
          device,
          engine,
          {{"scenario", scenario.name},
           {"origin", scenario.source},
           {"compute", name_with_bytes(scenario.compute)},
           {"collective", name(scenario.communication)},
           {"bytes", bytes},
           {"in_place", scenario.in_place},
           {"pieces", std::int64_t{scenario.pieces}},
           {"policy", name(policy)},
           {"ranks", std::int64_t{ranks}}}};
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
  add("joules_per_gb", energy.joules_per_gb);
  add("joules_per_gb_beside", energy.joules_per_gb_beside);
  add("power_estimate_seconds", energy.power_estimate_seconds);
  if (draw.watts_limit > 0) all.emplace_back("watts_limit", draw.watts_limit);
}

std::vector<RankTimeline> timeline(const OverlapResult& result) {
  const PairIteration& last = result.together.iterations.back();
  const auto& compute = result.compute_first ? last.first : last.second;
  const auto& communication = result.compute_first ? last.second : last.first;
  std::vector<RankTimeline> ranks;
  for (std::size_t rank = 0; rank < compute.size(); ++rank) {
    ranks.push_back({compute[rank], communication[rank]});
  }
  return ranks;
}

Measurement measurement_of(const CaseId& id, const OverlapResult& result) {
  Measurement measurement;
  measurement.id = id;
  Sampling sampling;
  for (const PairIteration& one : result.together.iterations) {
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

}  // namespace duet
