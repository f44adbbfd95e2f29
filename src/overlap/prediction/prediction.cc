#include "overlap/prediction/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "overlap/runner.h"

namespace duet {
namespace {

void require_fit(const Machine& machine, const OverlapRow& row) {
  const std::int64_t ranks = row.number("ranks");
  if (ranks == machine.size()) return;
  throw UsageError(fmt::format("{}: expected a machine of {} devices, as the journal's: it has {}",
                               machine.name(), ranks, machine.size()));
}

bool to_predict(const OverlapRow& row, const OverlapPolicy& policy) {
  return row.id.benchmark == "overlap" && row.seconds > 0 &&
         (!has_partition(policy.kind) || policy.units > 0);
}

PredictedCase case_of(const OverlapRow& row, const OverlapPolicy& policy,
                      const OverlapResult& result) {
  PredictedCase one;
  one.scenario = full_name(scenario_of(row));
  one.policy = policy;
  one.measured = row.seconds;
  one.predicted = result.times.together;
  const auto fraction = row.metrics.find("fraction_of_ideal");
  if (fraction == row.metrics.end() || !result.metrics.fraction_of_ideal) return one;
  one.measured_fraction = fraction->second;
  one.predicted_fraction = *result.metrics.fraction_of_ideal;
  return one;
}

PredictionError mean_error(const std::string& policy, const std::vector<PredictedCase>& cases) {
  PredictionError mean;
  mean.policy = policy;
  int with_fraction = 0;
  for (const PredictedCase& each : cases) {
    if (policy != "all" && policy != name(each.policy)) continue;
    ++mean.cases;
    mean.seconds += std::abs(each.error());
    if (std::isnan(each.measured_fraction)) continue;
    ++with_fraction;
    mean.fraction += std::abs(each.fraction_error());
  }
  mean.seconds /= std::max(1, mean.cases);
  mean.fraction /= std::max(1, with_fraction);
  return mean;
}

}  // namespace

std::vector<PredictionError> Prediction::errors() const {
  std::vector<std::string> policies;
  for (const PredictedCase& each : cases) {
    const std::string policy = name(each.policy);
    if (std::find(policies.begin(), policies.end(), policy) == policies.end()) {
      policies.push_back(policy);
    }
  }
  std::vector<PredictionError> all;
  for (const std::string& policy : policies) all.push_back(mean_error(policy, cases));
  all.push_back(mean_error("all", cases));
  return all;
}

Prediction predict(Machine& machine, const std::vector<OverlapRow>& measured,
                   const std::function<bool()>& stop) {
  if (!machine.is_virtual()) {
    throw UsageError(
        fmt::format("{}: expected a simulated machine, as in sim:h200-4", machine.name()));
  }
  OverlapRuns runs;
  runs.mode.iterations = 1;
  OverlapRunner runner(machine, runs, stop);
  Prediction prediction;
  std::map<std::string, std::string> missing;
  for (const OverlapRow& row : measured) {
    if (row.id.benchmark != "overlap") continue;
    const OverlapPolicy policy = policy_of(row);
    if (!to_predict(row, policy)) continue;
    if (stop && stop()) throw Interrupted();
    require_fit(machine, row);
    try {
      prediction.cases.push_back(case_of(row, policy, runner.run(scenario_of(row), policy)));
    } catch (const Unavailable& error) {
      missing.emplace(name(policy), error.what());
    }
  }
  for (const auto& [policy, why] : missing) prediction.missing.push_back(policy + ": " + why);
  if (prediction.cases.empty()) {
    throw UsageError(
        "nothing to predict: expected a journal of duet overlap with cases that the "
        "machine can run");
  }
  return prediction;
}

}  // namespace duet
