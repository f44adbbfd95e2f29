#include "layers/workload.h"

#include <fmt/format.h>

namespace duet {

namespace {

// When each rank multiplied which of its ranges of rows.
Trace trace_of_layer(const Record& record) {
  Trace trace;
  for (int rank = 0; rank < axis_number(record.id, "ranks"); ++rank) {
    const std::vector<double> ends = record.curves.value(fmt::format("gemms_of_rank_{}", rank));
    if (ends.empty()) continue;
    trace.lanes.push_back({fmt::format("rank {}: GEMMs", rank), spans_of("range", ends, true)});
  }
  return trace;
}

}  // namespace

const Workload& layer_workload() {
  static const Workload layer = [] {
    RecordKind records{"layer"};
    records.figures = {
        "added_percent",  "tflops", "gb_per_s",    "gemm_seconds",  "added_seconds",
        "serial_seconds", "hidden", "cut_seconds", "bound_seconds", "first_wait_seconds",
        "tail_seconds"};
    records.expect = expect_layer;
    records.trace = trace_of_layer;
    records.table.beside = {{"engine"}};
    return Workload{{records}};
  }();
  return layer;
}

}  // namespace duet
