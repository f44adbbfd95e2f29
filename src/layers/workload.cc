#include "layers/workload.h"

namespace duet {

const Workload& layer_workload() {
  static const Workload layer = [] {
    RecordKind records{"layer"};
    records.figures = {"added_percent",      "tflops",         "gb_per_s", "gemm_seconds",
                       "added_seconds",      "serial_seconds", "hidden",   "cut_seconds",
                       "first_wait_seconds", "tail_seconds"};
    records.expect = expect_layer;
    records.table.beside = {{"engine"}};
    return Workload{{records}};
  }();
  return layer;
}

}  // namespace duet
