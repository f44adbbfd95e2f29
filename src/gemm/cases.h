// The cases of `duet gemm`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "gemm/engine.h"
#include "gemm/problem.h"
#include "gemm/shapes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

struct GemmOptions {
  std::vector<DType> dtypes{DType::bf16};
  std::vector<std::string> engines;  // empty: all that the device has
  std::vector<GemmShape> shapes;     // see parse_shapes()
  std::vector<Layout> layouts{Layout::nn};
  Mode mode;
  double tuning_seconds =
      Tuning{}.seconds;      // for a problem, about; for the cache flushed if mode is
  bool each_device = false;  // every device of the machine by itself; otherwise the first
  bool search = false;       // also look for the shape with the highest rate
  std::string device_name;   // --device, as the journal shows it
};

// What --engine may name on a kind of device, whether or not its module could be loaded.
std::vector<std::string> gemm_engine_names(const std::string& device_kind);

// One case per shape, dtype, layout and engine; the engines of a problem stand next to each other,
// so that peers run in the same minute. On host devices the multiply-add peak of every dtype comes
// first. The machine must outlive the benchmark; `stop` is asked between batches. Throws UsageError
// for an engine that the device does not have.
Benchmark gemm_benchmark(Machine& machine, const GemmOptions& options, std::function<bool()> stop);

}  // namespace duet
