// `duet collective --tune`: the kernel against copy engines, and what follows for the engine auto.
#pragma once

#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <vector>

#include "collectives/collective.h"
#include "device/machine.h"
#include "team/processes.h"
#include "timing/measurement.h"

namespace duet {

class CollectiveTuning {
 public:
  // Called by all processes. Throws UsageError, in all, where process 0's tuning file is damaged or
  // cannot be written.
  explicit CollectiveTuning(Processes& processes);
  CollectiveTuning(const CollectiveTuning&) = delete;
  CollectiveTuning& operator=(const CollectiveTuning&) = delete;

  static std::vector<std::string> engines();
  // Those that were asked for, else 64 KiB to 1 GiB (on CPUs to 16 MiB) by factors of 2.
  std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked, Machine& machine) const;

  // Remembers what the benchmark has measured when it ends. Both must outlive the benchmark.
  void hear(Machine& machine, Benchmark& benchmark);
  // In process 0: puts thresholds into the tuning file and says them.
  void store(std::ostream& out) const;

 private:
  struct Heard {
    Machine& machine;
    std::vector<Finished> finished;  // empty where the run was interrupted
  };

  Processes& processes_;
  std::deque<Heard> heard_;  // benchmarks point into it
};

// A line of `duet info`: from which sizes on `auto` goes by copy engines here; "" for one device.
std::string tuning_text(Machine& machine);

}  // namespace duet
