#include "workload/workload.h"

#include "soak/record.h"

namespace duet {
namespace {

std::vector<RecordKind> soak_records() {
  RecordKind soak{kSoakBenchmark};
  soak.quantities = {kComparedBytes};
  soak.figures = {"tflops"};
  soak.several_calls = true;
  return {soak};
}

}  // namespace

const Workload& soak_workload() {
  static const Workload soak{soak_records()};
  return soak;
}

}  // namespace duet
