#pragma once

#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <vector>

#include "collectives/cases.h"
#include "collectives/collective.h"
#include "device/machine.h"
#include "team/processes.h"
#include "timing/measurement.h"

namespace duet {

// `duet collective --tune`: measures the engines kernel and dma, and stores the sizes from which
// the engine auto uses dma. Where all processes have NCCL it is measured as well, for `duet
// nccl-env`.
class CollectiveTuning {
 public:
  // Collective: all processes call it. Throws UsageError in all if process 0's tuning file is
  // damaged or cannot be written.
  explicit CollectiveTuning(Processes& processes);
  CollectiveTuning(const CollectiveTuning&) = delete;
  CollectiveTuning& operator=(const CollectiveTuning&) = delete;

  // Collective: all processes call it.
  std::vector<std::string> engines(Machine& machine);
  // The sizes in bytes that the user asked for, else 64 KiB (where engines() has NCCL 8 KiB) to 1
  // GiB (on CPUs to 16 MiB) by factors of 2.
  std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked, Machine& machine) const;

  // Makes the benchmark of these options pass its results to this object when it ends. This object
  // and the machine must outlive the benchmark.
  void observe(Machine& machine, const CollectiveOptions& options, Benchmark& benchmark);
  // In process 0: stores the thresholds in the tuning file and prints them. Nothing in the others.
  void store(std::ostream& out) const;

 private:
  struct TunedRun {
    Machine& machine;
    std::vector<Finished> finished;  // empty where the run was interrupted
  };

  Processes& processes_;
  bool has_nccl_ = false;            // all processes
  std::deque<TunedRun> tuned_runs_;  // benchmarks point into it
};

}  // namespace duet
