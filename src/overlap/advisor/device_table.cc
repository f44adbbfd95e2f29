#include "overlap/advisor/device_table.h"

#include <algorithm>

namespace duet {
namespace {

void insert(std::vector<UnitFactor>& factors, UnitFactor one) {
  const auto place =
      std::lower_bound(factors.begin(), factors.end(), one.units,
                       [](const UnitFactor& each, int units) { return each.units < units; });
  if (place != factors.end() && place->units == one.units) {
    *place = one;
  } else {
    factors.insert(place, one);
  }
}

void insert(std::vector<SizeTime>& times, SizeTime one) {
  const auto place =
      std::lower_bound(times.begin(), times.end(), one.bytes,
                       [](const SizeTime& each, std::uint64_t size) { return each.bytes < size; });
  if (place != times.end() && place->bytes == one.bytes) {
    *place = one;
  } else {
    times.insert(place, one);
  }
}

// The entry for which `same` returns true; adds one if there is none.
template <class Entry, class Same>
Entry& entry(std::vector<Entry>& entries, const Same& same) {
  const auto found = std::find_if(entries.begin(), entries.end(), same);
  return found != entries.end() ? *found : entries.emplace_back();
}

GemmEntry& gemm_entry(DeviceTable& table, const GemmProblem& problem) {
  GemmEntry& one = entry(table.gemms, [&problem](const GemmEntry& each) {
    return name(each.problem) == name(problem);
  });
  one.problem = problem;
  return one;
}

CollectiveEntry& collective_entry(DeviceTable& table, CollectiveKind kind,
                                  const std::string& engine) {
  CollectiveEntry& one = entry(table.collectives, [&](const CollectiveEntry& each) {
    return each.collective == kind && each.engine == engine;
  });
  one.collective = kind;
  one.engine = engine;
  return one;
}

void add_compute(DeviceTable& table, const OverlapRow& row) {
  GemmEntry& one = gemm_entry(table, parse_problem(row.word("work")));
  if (row.number("units") == 0) one.seconds = row.seconds;
  insert(one.taken, {static_cast<int>(row.metric("units_taken")), row.metric("slowdown")});
}

void add_communication(DeviceTable& table, const OverlapRow& row) {
  CollectiveEntry& one = collective_entry(table, parse_collective(row.word("work")), row.id.engine);
  const auto units = static_cast<int>(row.number("units"));
  const auto bytes = static_cast<std::uint64_t>(row.number("bytes"));
  if (units == 0) insert(one.times, {bytes, row.seconds});
  if (units == 0 || bytes < one.granted_bytes) return;
  if (bytes > one.granted_bytes) one.granted.clear();
  one.granted_bytes = bytes;
  insert(one.granted, {units, row.metric("slowdown")});
}

void add_beside(DeviceTable& table, const OverlapRow& row) {
  const OverlapScenario scenario = scenario_of(row);
  if (!is_gemm_beside_collective(scenario)) return;
  const GemmBesideCollective pair = gemm_beside_collective(scenario);
  BesideEntry one;
  one.policy = policy_of(row);
  if (has_partition(one.policy.kind) && one.policy.units == 0) return;  // the best point of a sweep
  one.engine = row.id.engine;
  one.compute = pair.problem;
  one.collective = pair.collective;
  one.bytes = pair.bytes;
  one.compute_alone = row.metric("compute_seconds") / scenario.pieces;
  one.engine_alone = row.metric("engine_seconds") / scenario.pieces;
  one.together = row.seconds / scenario.pieces;
  one.compute_slowdown = row.metric("compute_slowdown");
  one.communication_slowdown = row.metric("communication_slowdown");
  entry(table.besides, [&](const BesideEntry& each) {
    return each.policy == one.policy && name(each.compute) == name(one.compute) &&
           each.collective == one.collective && each.bytes == one.bytes;
  }) = one;
  GemmEntry& compute = gemm_entry(table, one.compute);
  if (compute.seconds <= 0) compute.seconds = one.compute_alone;
  insert(collective_entry(table, one.collective, one.engine).times, {one.bytes, one.engine_alone});
}

}  // namespace

void add_rows(DeviceTable& table, const std::vector<OverlapRow>& rows) {
  for (const OverlapRow& row : rows) {
    if (row.seconds <= 0) continue;
    if (row.id.benchmark == "overlap") add_beside(table, row);
    if (row.id.benchmark != "overlap_isolated") continue;
    if (row.word("side") == "compute") {
      add_compute(table, row);
    } else {
      add_communication(table, row);
    }
  }
  const auto untimed = [](const GemmEntry& each) { return each.seconds <= 0; };
  table.gemms.erase(std::remove_if(table.gemms.begin(), table.gemms.end(), untimed),
                    table.gemms.end());
}

double factor_at(const std::vector<UnitFactor>& factors, int units) {
  if (factors.empty()) return 1;
  const auto above =
      std::lower_bound(factors.begin(), factors.end(), units,
                       [](const UnitFactor& each, int wanted) { return each.units < wanted; });
  if (above == factors.begin()) return factors.front().factor;
  if (above == factors.end()) return factors.back().factor;
  const UnitFactor& low = *(above - 1);
  const double share = double(units - low.units) / (above->units - low.units);
  return low.factor + share * (above->factor - low.factor);
}

}  // namespace duet
