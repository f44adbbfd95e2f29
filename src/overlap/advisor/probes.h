// The few works from which a device's table is made: one GEMM bound by compute and one by memory,
// and each collective at a size bound by latency and at one bound by bandwidth.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "overlap/advisor/device_table.h"
#include "overlap/cases.h"
#include "overlap/isolated/cases.h"

namespace duet {

struct ProbeOptions {
  std::vector<CollectiveKind> collectives;
  DType dtype = DType::bf16;  // of the GEMMs; what it rates of others follows from promises
  PairMode mode;
  DevicePeaks peaks;
  std::string device_name;
};

// The sides alone (overlap_isolated), and pairs of them under each policy, where each side is the
// longer one once (overlap). Throw as isolated_benchmark() and overlap_benchmark() do.
Benchmark isolated_probes(Machine& machine, const ProbeOptions& options,
                          std::function<bool()> stop);
Benchmark pair_probes(Machine& machine, const ProbeOptions& options, std::function<bool()> stop);

// Has the benchmark's cases put what they measured into `rows`, which must outlive it.
void hear(Benchmark& benchmark, std::vector<OverlapRow>& rows);

// The machine's table, with nothing in it.
DeviceTable empty_table(Machine& machine);

// By which tables are told apart: the model, or a simulated machine's name.
std::string table_device(bool is_virtual, const std::string& machine, const std::string& model);

}  // namespace duet
