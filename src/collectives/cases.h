// The cases of `duet collective`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/collective_work.h"
#include "collectives/skew.h"
#include "device/machine.h"
#include "team/processes.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

struct CollectiveOptions {
  std::vector<CollectiveKind> kinds{CollectiveKind::all_gather};
  std::vector<std::string> engines;  // empty: all that the devices have
  std::vector<std::uint64_t> sizes;  // S of collective.h, rounded down to whole counts; empty:
                                     // default_collective_sizes()
  std::vector<DType> dtypes{DType::fp32};      // among several, bytes are left out of reductions
  std::vector<Reduction> ops{Reduction::sum};  // of those that reduce
  int root = 0;                                // of those that have one
  std::vector<bool> in_place{false, true};     // those that cannot run in place leave it out
  std::vector<Skew> skews{Skew::even};         // of all_to_all_v
  bool verified = true;
  GraphUse graph;
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
};

// send_recv: the sizes of `duet copy`, whose curve it is; others: 64 KiB to 1 GiB by factors of 4,
// on CPUs to 16 MiB.
std::vector<std::uint64_t> default_collective_sizes(CollectiveKind kind, Machine& machine);

// All devices of the machine are the ranks; with several processes, which all make the same call,
// those of the others' machines as well. Machine and processes must outlive the benchmark, whose
// cases all processes run in the same order and conclude together. An engine is opened by the first
// case that needs it and closed when the benchmark has ended. `stop` is asked between batches.
// Throws UsageError for engines that are not there, a root that is no rank, element types that do
// not reduce, and sizes that hold not one element a rank.
Benchmark collective_benchmark(Machine& machine, const CollectiveOptions& options,
                               std::function<bool()> stop, Processes* processes = nullptr);

}  // namespace duet
