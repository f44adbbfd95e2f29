#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "timing/measurement.h"
#include "training/model.h"
#include "training/training_run.h"
#include "training/training_work.h"

namespace duet {

// The options of `duet train`.
struct TrainingOptions {
  std::vector<ModelDescription> models;
  std::vector<Recipe> recipes;
  Optimizer optimizer;
  std::int64_t accumulate = 1;  // batches whose gradients a step adds up
  UpdateOrder order = UpdateOrder::after;
  Mode mode;
  bool breakdown = false;     // also time the parts of a step, enqueued one by one
  double energy_seconds = 0;  // above 0: also measure energy, for so long at least
  std::string device_name;    // --device, as the journal shows it
};

// One case per model and recipe, on the machine's first device. The machine must outlive the
// benchmark; `stop` is called between batches of steps.
Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop);

// The options of `duet train gpt --data`.
struct TrainingRunOptions {
  TrainingRunSettings settings;
  std::string device_name;  // --device, as the journal shows it
  std::function<void(const TrainingCurves&)> after_step;
};

// One case: the run on the machine's first device, with its curves. Throws UsageError for input
// that cannot be used.
Benchmark training_run_benchmark(Machine& machine, const TrainingRunOptions& options,
                                 std::function<bool()> stop);

}  // namespace duet
