#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "gemm/expert_models.h"
#include "gemm/grouped.h"
#include "gemm/routing.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// The name of the case beside the engines: one product of as many rows and a single matrix.
inline constexpr const char* kDenseEngine = "dense";

// One grouped GEMM before its rows are drawn.
struct GroupedShape {
  std::string model, part;  // "deepseek-v3", "gate_up"; "" for shapes of the user
  int groups = 0;
  std::int64_t rows_per_group = 0;  // the mean
  std::int64_t n = 0, k = 0;
};

// Both GEMMs of `groups` of a model's experts: gate_up (N = 2 width, K = hidden) and down (N =
// hidden, K = width).
std::vector<GroupedShape> shapes_of_experts(const ExpertModel& model, int groups,
                                            std::int64_t rows_per_group);

// The options of `duet gemm --grouped`.
struct GroupedGemmOptions {
  std::vector<GroupedShape> shapes;
  std::vector<Routing> routings{Routing{}};
  std::vector<DType> dtypes{DType::bf16};
  std::vector<std::string> engines;         // empty: all that the device has
  std::vector<Layout> layouts{Layout::nn};  // nn and nt
  Mode mode;
  double tuning_seconds =
      Tuning{}.seconds;      // about, per problem; tunes with a flushed cache if mode.flush
  bool each_device = false;  // measure every device by itself; otherwise only the first
  std::string device_name;   // --device, as the journal shows it
};

// The engines that --engine may name on such a device, kDenseEngine among them.
std::vector<std::string> grouped_engine_names(const DeviceInfo& device);

// One case per shape, routing, dtype, layout and engine; those of a problem follow each other, so
// that they are compared under the same conditions. The machine must outlive the benchmark; `stop`
// is called between batches. Throws UsageError for an engine that the device does not have.
Benchmark grouped_gemm_benchmark(Machine& machine, const GroupedGemmOptions& options,
                                 std::function<bool()> stop);

}  // namespace duet
