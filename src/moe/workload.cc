#include "moe/workload.h"

#include <fmt/format.h>

#include "moe/moe_layer.h"

namespace duet {
namespace {

// The phases of a call, of the slowest rank each; with an overlap they are not one behind the
// other.
Trace trace_of_moe(const Record& record) {
  if (record.metrics.find("wait_seconds") != nullptr) return {};
  std::vector<double> ends;
  TraceLane lane{"phases of the slowest rank each", {}};
  double begin = 0;
  std::vector<const char*> phases(std::begin(kMoePhases), std::end(kMoePhases));
  phases.insert(phases.end(), std::begin(kMoeBackwardPhases), std::end(kMoeBackwardPhases));
  for (const char* phase : phases) {
    const double seconds = record.metrics.value(fmt::format("{}_seconds", phase));
    if (seconds <= 0) continue;
    lane.spans.push_back({phase, begin, begin + seconds});
    begin += seconds;
  }
  if (lane.spans.empty()) return {};
  return {{lane}, {}};
}

}  // namespace

Rates moe_rates(const Cost& cost, double seconds) {
  return {{"tokens_per_s", cost.more.value("tokens") / seconds},
          {"tflops", cost.flop / seconds * 1e-12}};
}

const Workload& moe_workload() {
  static const Workload moe = [] {
    RecordKind records{"moe"};
    records.quantities = {"tokens"};
    records.rates = moe_rates;
    records.figures = {"added_percent",         "tokens_per_s",   "tflops",
                       "experts_alone_seconds", "serial_seconds", "hidden_share"};
    for (const char* phase : kMoePhases)
      records.figures.push_back(fmt::format("{}_seconds", phase));
    for (const char* phase : kMoeBackwardPhases)
      records.figures.push_back(fmt::format("{}_seconds", phase));
    records.figures.push_back("wait_seconds");
    for (const char* phase : {"dispatch", "dispatch_in_node", "combine_in_node", "combine"}) {
      for (const char* base : {"wire", "logical"}) {
        records.figures.push_back(fmt::format("{}_{}_bytes", phase, base));
        records.figures.push_back(fmt::format("{}_{}_gb_per_s", phase, base));
      }
    }
    records.figures.insert(records.figures.end(), {"wire_rows", "rail_rows", "dispatch_rail_bytes",
                                                   "rows_max_over_mean", "dropped_percent"});
    records.trace = trace_of_moe;
    records.table.beside = {{"engine", "exchange", "overlap"}, {"engine"}};
    return Workload{{records}};
  }();
  return moe;
}

}  // namespace duet
