#include "overlap/advisor/score.h"

#include <algorithm>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kRight = 0.01;

struct Measured {
  OverlapPolicy policy;
  double seconds = 0;
};

struct Swept {
  OverlapScenario scenario;
  std::vector<Measured> policies;
};

std::vector<Swept> by_scenario(const std::vector<OverlapRow>& rows) {
  std::vector<Swept> all;
  for (const OverlapRow& row : rows) {
    if (row.id.benchmark != "overlap" || row.seconds <= 0) continue;
    const OverlapPolicy policy = policy_of(row);
    if (has_partition(policy.kind) && policy.units == 0) continue;
    const OverlapScenario scenario = scenario_of(row);
    if (!is_gemm_beside_collective(scenario)) continue;
    auto found = std::find_if(all.begin(), all.end(), [&](const Swept& each) {
      return full_name(each.scenario) == full_name(scenario);
    });
    if (found == all.end()) found = all.insert(all.end(), {scenario, {}});
    found->policies.push_back({policy, row.seconds});
  }
  if (all.empty()) {
    throw UsageError(
        "nothing to score: expected a journal of duet overlap, of GEMMs beside collectives");
  }
  return all;
}

const Measured* find(const Swept& swept, const OverlapPolicy& policy) {
  const auto found =
      std::find_if(swept.policies.begin(), swept.policies.end(),
                   [&policy](const Measured& each) { return each.policy == policy; });
  return found == swept.policies.end() ? nullptr : &*found;
}

// The table without the scenario's own pairs: the table may come from the sweep that is scored, and
// the advisor must not look up the answer.
DeviceTable without(const DeviceTable& table, const OverlapScenario& scenario) {
  DeviceTable rest = table;
  const GemmBesideCollective pair = gemm_beside_collective(scenario);
  const std::string compute = name(pair.problem);
  const auto same = [&](const BesideEntry& each) {
    return name(each.compute) == compute && each.bytes == pair.bytes;
  };
  rest.besides.erase(std::remove_if(rest.besides.begin(), rest.besides.end(), same),
                     rest.besides.end());
  return rest;
}

ScenarioScore score_of(const DeviceTable& table, const DevicePeaks& peaks, const Swept& swept) {
  const auto measured = [&](const OverlapPolicy& policy) { return find(swept, policy) != nullptr; };
  const Advice advice = advise(without(table, swept.scenario), peaks, swept.scenario, measured);
  const Measured& best =
      *std::min_element(swept.policies.begin(), swept.policies.end(),
                        [](const Measured& a, const Measured& b) { return a.seconds < b.seconds; });
  ScenarioScore one;
  one.scenario = full_name(swept.scenario);
  one.advised = name(advice.policy);
  one.best = name(best.policy);
  one.advised_seconds = find(swept, advice.policy)->seconds;
  one.best_seconds = best.seconds;
  one.forecast_seconds = advice.seconds;
  return one;
}

}  // namespace

int Score::right() const {
  return static_cast<int>(
      std::count_if(scenarios.begin(), scenarios.end(),
                    [](const ScenarioScore& each) { return each.loss() <= kRight; }));
}

double Score::worst_loss() const {
  double worst = 0;
  for (const ScenarioScore& each : scenarios) worst = std::max(worst, each.loss());
  return worst;
}

Score score(const DeviceTable& table, const DevicePeaks& peaks,
            const std::vector<OverlapRow>& sweep) {
  Score result;
  for (const Swept& each : by_scenario(sweep)) {
    result.scenarios.push_back(score_of(table, peaks, each));
  }
  return result;
}

}  // namespace duet
