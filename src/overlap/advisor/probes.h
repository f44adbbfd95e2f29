// The works from which a device's table is measured: one GEMM bound by compute and one bound by
// memory, and each collective at a size bound by latency and at one bound by bandwidth.
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
  DType dtype = DType::bf16;  // of the GEMMs; rates of other types are scaled by the peak rates
  BesideMode mode;
  DevicePeaks peaks;
  std::string device_name;
};

// isolated_probes: the sides alone (benchmark overlap_isolated). pair_probes: pairs under each
// policy (benchmark overlap), one in which the GEMM is the longer side and one in which the
// collective is. They throw what isolated_benchmark() and overlap_benchmark() throw.
Benchmark isolated_probes(Machine& machine, const ProbeOptions& options,
                          std::function<bool()> stop);
Benchmark pair_probes(Machine& machine, const ProbeOptions& options, std::function<bool()> stop);

// Makes the benchmark's cases append their results to `rows`, which must outlive the benchmark.
void collect_rows(Benchmark& benchmark, std::vector<OverlapRow>& rows);

// A table that describes the machine and has no entries.
DeviceTable empty_table(Machine& machine);

// The name that identifies a table: the device's model, or the name of a simulated machine.
std::string table_device(bool is_virtual, const std::string& machine, const std::string& model);

}  // namespace duet
