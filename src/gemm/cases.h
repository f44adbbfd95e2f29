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

// The options of `duet gemm`.
struct GemmOptions {
  std::vector<DType> dtypes{DType::bf16};
  std::vector<std::string> engines;  // empty: all that the device has
  std::vector<GemmShape> shapes;     // see parse_shapes()
  std::vector<Layout> layouts{Layout::nn};
  bool accumulate = false;  // C += A x B
  Epilogue epilogue = Epilogue::none;
  Mode mode;
  double tuning_seconds =
      Tuning{}.seconds;      // about, per problem; tunes with a flushed cache if mode.flush
  bool each_device = false;  // measure every device by itself; otherwise only the first
  bool search = false;       // also search for the shape with the highest rate
  std::string device_name;   // --device, as the journal shows it
};

// The engines that --engine may name on such a device, whether or not their modules can be loaded.
std::vector<std::string> gemm_engine_names(const DeviceInfo& device);

// bf16; fp32 on a CPU on which no library multiplies bf16.
DType default_gemm_dtype(Machine& machine);

// One case per shape, dtype, layout and engine. The engines of a problem follow each other, so that
// they are compared under the same conditions. On host devices the multiply-add peak of every dtype
// comes first. The machine must outlive the benchmark; `stop` is called between batches. Throws
// UsageError for an engine that the device does not have.
Benchmark gemm_benchmark(Machine& machine, const GemmOptions& options, std::function<bool()> stop);

}  // namespace duet
