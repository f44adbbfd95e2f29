#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "copy/transfer.h"
#include "device/machine.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// The options of `duet copy`.
struct CopyOptions {
  std::vector<CopyKind> kinds;                          // empty: all that the machine supports
  std::vector<Executor> executors;                      // empty: dma and kernel
  std::vector<Issue> issues{Issue::push, Issue::pull};  // of peer copies
  std::vector<Pattern> patterns{Pattern::pair, Pattern::all_pairs};
  std::vector<MemoryKind> host_memory{MemoryKind::pinned, MemoryKind::pageable};
  std::vector<bool> directions{false, true};  // one way, both ways
  std::vector<std::uint64_t> sizes;           // empty: seed_sizes(), with beyond_cache
  // Also copies within a CPU of its copy peak's size, where all `sizes` are smaller: these may sit
  // in the cache, and nothing is expected of them.
  bool beyond_cache = false;
  // Ordered pairs of devices whose whole curve is measured; empty: device 0 to device 1.
  std::vector<std::pair<int, int>> pairs;
  std::uint64_t matrix_bytes = 256ull << 20;  // the size at which every pair is measured; 0: none
  // Copies within a device and with the host: of every device; otherwise of the first only.
  bool each_device = false;
  std::vector<int> grids{0};   // blocks of kernel copies; 0: the device's choice
  std::vector<int> blocks{0};  // threads per block; 0: the device's choice
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
};

// The cases of `duet copy`. The machine must outlive the benchmark; `stop` is called between
// batches. Throws UsageError for pairs of devices that the machine does not have, and for block
// sizes that no GPU runs. A case that cannot run throws OutOfMemory or Unavailable.
Benchmark copy_benchmark(Machine& machine, const CopyOptions& options, std::function<bool()> stop);

// One fitted curve for every set of cases that differ in size alone. Its figures are latency_us,
// asymptotic_gb_per_s, miss_percent, beyond_best_percent, n_half_bytes, and those of
// bytes_50_percent, bytes_80_percent and bytes_90_percent that are reached. If refusal() refuses
// the line, a note "no_fit" has the reason instead.
std::vector<Measurement> copy_curves(const std::vector<Finished>& finished);

}  // namespace duet
