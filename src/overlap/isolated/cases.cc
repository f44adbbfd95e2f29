#include "overlap/isolated/cases.h"

#include <algorithm>
#include <memory>

#include "overlap/isolated/sides.h"
#include "overlap/metrics.h"

namespace duet {
namespace {

using Sides = std::shared_ptr<IsolatedSides>;

// The numbers of units to measure. Where units cannot be limited, one case remains, which is
// skipped with the reason.
std::vector<int> sweep(const IsolatedSides& sides) {
  std::vector<int> units = partition_sweep(sides.machine().device(0).info());
  if (units.empty()) units.push_back(1);
  return units;
}

void add_compute(Benchmark& benchmark, const Sides& sides, const GemmProblem& problem) {
  const auto add = [&](int units) {
    benchmark.cases.push_back({sides->compute_id(problem, units),
                               [sides, problem, units] { return sides->compute(problem, units); },
                               std::nullopt});
  };
  add(0);
  const int all = sides->machine().device(0).info().compute_units;
  for (const int taken : sweep(*sides)) add(std::max(1, all - taken));
}

void add_communication(Benchmark& benchmark, const Sides& sides, const Collective& collective) {
  const auto add = [&](const std::string& engine, int units) {
    benchmark.cases.push_back({sides->communication_id(collective, engine, units),
                               [sides, collective, engine, units] {
                                 return sides->communication(collective, engine, units);
                               },
                               std::nullopt});
  };
  const OverlapEngineNames& engines = sides->engines();
  for (const std::string& engine : {engines.vendor, engines.zero_cta, std::string("dma")}) {
    add(engine, 0);
  }
  for (const int granted : sweep(*sides)) add(engines.vendor, granted);
}

double seconds_of(const std::vector<Finished>& finished, const CaseId& id) {
  const auto found = std::find_if(finished.begin(), finished.end(), [&id](const Finished& each) {
    return each.id.benchmark == id.benchmark && each.id.engine == id.engine &&
           each.id.axes == id.axes;
  });
  return found == finished.end() ? 0 : found->median_seconds;
}

Collective piece_of(const OverlapScenario& scenario, int ranks) {
  return collective_of(scenario, std::get<CollectiveSide>(scenario.communication), ranks);
}

std::vector<Measurement> pairs(const IsolatedSides& sides,
                               const std::vector<OverlapScenario>& scenarios,
                               const std::vector<Finished>& finished) {
  const int ranks = sides.machine().size();
  const std::string& vendor = sides.engines().vendor;
  std::vector<Measurement> all;
  for (const OverlapScenario& each : scenarios) {
    const double compute =
        each.pieces *
        seconds_of(finished, sides.compute_id(gemm_beside_collective(each).problem, 0));
    const double communication =
        each.pieces *
        seconds_of(finished, sides.communication_id(piece_of(each, ranks), vendor, 0));
    if (compute <= 0 || communication <= 0) continue;
    Measurement one;
    one.id = {"overlap_isolated_pair",
              sides.device_name(),
              vendor,
              {{"scenario", each.name},
               {"origin", each.source},
               {"in_place", each.in_place},
               {"ranks", std::int64_t{ranks}}}};
    one.rates = {{"ideal_speedup", (compute + communication) / std::max(compute, communication)}};
    one.metrics = {{"compute_seconds", compute}, {"communication_seconds", communication}};
    one.notes = {{"class", std::string(name(balance(compute, communication)))}};
    all.push_back(one);
  }
  return all;
}

}  // namespace

// A side that several scenarios share gives equal cases, which are run once.
Benchmark isolated_benchmark(Machine& machine, const IsolatedOptions& options,
                             std::function<bool()> stop) {
  const auto sides = std::make_shared<IsolatedSides>(machine, options.mode, options.peaks,
                                                     options.device_name, std::move(stop));
  Benchmark benchmark;
  for (const OverlapScenario& each : options.scenarios) {
    check_scenario(each, machine.size());
    add_compute(benchmark, sides, gemm_beside_collective(each).problem);
  }
  for (const OverlapScenario& each : options.scenarios) {
    add_communication(benchmark, sides, piece_of(each, machine.size()));
  }
  benchmark.conclude = [sides, scenarios = options.scenarios](const auto& finished) {
    return pairs(*sides, scenarios, finished);
  };
  return benchmark;
}

}  // namespace duet
