#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/machine.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "training/model.h"
#include "training/training_run.h"
#include "training/training_work.h"

namespace duet {

// How the ranks of a machine train one model together.
enum class Parallel {
  none,  // the machine's first device alone
  ddp,   // every rank has the whole model and a batch of its own; gradients are summed
};
const char* name(Parallel parallel);
Parallel parse_parallel(std::string_view text);  // throws UsageError

// Instead of a collective engine's name: nothing is summed. A step takes what it would take if
// communication cost nothing, and the ranks' models part.
inline constexpr const char* kNoEngine = "none";

// The options of `duet train`.
struct TrainingOptions {
  std::vector<ModelDescription> models;
  std::vector<Recipe> recipes;
  Optimizer optimizer;
  std::int64_t accumulate = 1;  // batches whose gradients a step adds up
  UpdateOrder order = UpdateOrder::after;
  Mode mode;
  Parallel parallel = Parallel::none;
  std::vector<std::string> engines{"auto"};  // of the sums; kNoEngine may be among them
  std::uint64_t bucket_bytes = GradientSums().bucket_bytes;
  bool breakdown = false;     // also time the parts of a step, enqueued one by one
  double energy_seconds = 0;  // above 0: also measure energy, for so long at least
  std::string device_name;    // --device, as the journal shows it
};

// One case per model, recipe and, of parallel steps, engine: the engines' cases of one model follow
// each other. Parallel steps run on all devices of the machine and, with several processes, on
// those of the other processes' machines; others on the machine's first device.
// - The machine and `processes` must outlive the benchmark. `stop` is called between batches of
//   steps.
// - Collective among processes: all make the same call, and run the cases in the same order.
// Throws UsageError for an engine that the machine does not have.
Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop, Processes* processes = nullptr);

// The options of `duet train gpt --data`.
struct TrainingRunOptions {
  TrainingRunSettings settings;
  Parallel parallel = Parallel::none;
  std::string engine = "auto";  // of sums over ranks
  std::uint64_t bucket_bytes = GradientSums().bucket_bytes;
  std::string device_name;  // --device, as the journal shows it
  std::function<void(const TrainingCurves&)> after_step;
};

// One case: the run, on the devices of training_benchmark(), with its curves. Collective among
// processes. Throws UsageError for input that cannot be used.
Benchmark training_run_benchmark(Machine& machine, const TrainingRunOptions& options,
                                 std::function<bool()> stop, Processes* processes = nullptr);

}  // namespace duet
