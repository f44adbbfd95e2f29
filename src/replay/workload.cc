#include "workload/workload.h"

#include "collectives/cost.h"
#include "collectives/workload.h"
#include "replay/replay_table.h"
#include "timing/work.h"

namespace duet {
namespace {

double cpu_flop_of_gemm(const CaseId& id) {
  return 2 * axis_number(id, "m") * axis_number(id, "n") * axis_number(id, "k") *
         axis_number(id, "ranks");
}

// Steps of different traces have no rate in common.
Rates rates_of_step(const Cost&, double seconds) { return {{"steps_per_s", 1 / seconds}}; }

}  // namespace

const Workload& replay_workload() {
  static const Workload replay = [] {
    RecordKind gemms{"replay_gemm"}, collectives{"replay_collective"}, steps{"replay"};
    gemms.figures = {"tflops", "recorded_seconds"};
    gemms.cpu_flop = cpu_flop_of_gemm;
    gemms.own_section = true;
    collectives.rates = collective_rates;
    collectives.figures = {"busbw_gb_per_s", "algbw_gb_per_s", "wire_gb_per_s", "recorded_seconds"};
    collectives.own_section = true;
    collectives.quantities = {kAlgorithmBytes, kBusBytes, kBusiestWireBytes, kNetworkBytes,
                              kLinkGbitPerS};
    steps.rates = rates_of_step;
    steps.figures = {"steps_per_s",     "gemm_seconds", "collective_seconds",
                     "exposed_seconds", "hidden",       "recorded_seconds"};
    steps.own_section = true;
    steps.table.marks_best = false;
    steps.tables = replay_table;
    return Workload{{gemms, collectives, steps}};
  }();
  return replay;
}

}  // namespace duet
