#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/machine.h"
#include "team/network_options.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "training/models/model.h"
#include "training/parallel/parallel.h"
#include "training/training_run.h"
#include "training/training_work.h"

namespace duet {

// Instead of a collective engine's name: nothing is communicated.
inline constexpr const char* kNoEngine = "none";

// The options of `duet train`.
struct TrainingOptions {
  std::vector<ModelDescription> models;
  std::vector<Recipe> recipes;
  Optimizer optimizer;
  std::int64_t accumulate = 1;  // batches whose gradients a step adds up
  UpdateOrder order = UpdateOrder::after;
  // Not deterministic: the fastest kernels.
  OperationsOptions operations{false, OperationsOptions().tuning_seconds};
  Mode mode;
  ParallelSettings parallel;                 // without sessions
  std::vector<std::string> engines{"auto"};  // kNoEngine may be among them
  int node_size = 0;                         // as Team takes it
  NetworkOptions network;                    // between nodes
  bool breakdown = false;                    // also time the parts of a step, enqueued one by one
  double energy_seconds = 0;                 // above 0: also measure energy, for so long at least
  std::string device_name;                   // --device, as the journal shows it
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

// The options of `duet train --data`.
struct TrainingRunOptions {
  TrainingRunSettings settings;
  ParallelSettings parallel;  // without sessions
  std::string engine = "auto";
  int node_size = 0;        // as Team takes it
  NetworkOptions network;   // between nodes
  std::string device_name;  // --device, as the journal shows it
  std::function<void(const TrainingCurves&)> after_step;
  Generation generation;  // after the run
  std::function<void(const std::string& text)> after_generation;
};

// One case: the run, on the devices of training_benchmark(), with its curves. Collective among
// processes. Throws UsageError for input that cannot be used.
Benchmark training_run_benchmark(Machine& machine, const TrainingRunOptions& options,
                                 std::function<bool()> stop, Processes* processes = nullptr);

}  // namespace duet
