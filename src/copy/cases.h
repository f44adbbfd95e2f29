// The cases of `duet copy`, and the curves fitted to them.
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

struct CopyOptions {
  std::vector<CopyKind> kinds;                          // empty: all that the machine can have
  std::vector<Executor> executors;                      // empty: dma and kernel
  std::vector<Issue> issues{Issue::push, Issue::pull};  // of peer copies
  std::vector<Pattern> patterns{Pattern::pair, Pattern::all_pairs};
  std::vector<MemoryKind> host_memory{MemoryKind::pinned, MemoryKind::pageable};
  std::vector<bool> directions{false, true};  // one way, both ways
  std::vector<std::uint64_t> sizes;           // empty: seed_sizes()
  // Ordered pairs of devices whose whole curve is measured; empty: device 0 to device 1.
  std::vector<std::pair<int, int>> pairs;
  std::uint64_t matrix_bytes = 256ull << 20;  // the size at which every pair is measured; 0: none
  std::vector<int> grids{0};                  // of kernel copies; 0: the device's choice
  std::vector<int> blocks{0};
  Mode mode;
  std::string device_name;  // --device, as the journal shows it
};

// Powers of two from 4 KiB to the largest size of the MI300X study's benchmark, its list of sizes,
// and the 2,101,346,304 bytes (4096 x 128256 x 4, Llama 3's embedding) that it names.
std::vector<std::uint64_t> seed_sizes();

// The machine must outlive the benchmark. `stop` is asked between batches. Throws UsageError for
// pairs of devices that the machine does not have and for blocks that no GPU runs. A case that
// cannot run throws OutOfMemory or Unavailable.
Benchmark copy_benchmark(Machine& machine, const CopyOptions& options, std::function<bool()> stop);

// A curve for every list of cases that differ in size alone: latency_us, asymptotic_gb_per_s,
// n_half_bytes, bytes_50_percent, bytes_80_percent, bytes_90_percent (those that are reached).
std::vector<Measurement> copy_curves(const std::vector<Finished>& finished);

}  // namespace duet
