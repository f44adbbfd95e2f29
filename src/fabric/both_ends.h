#pragma once

#include <functional>
#include <memory>

#include "device/machine.h"
#include "fabric/cases.h"
#include "timing/measurement.h"

namespace duet {

// The cases of fabric_benchmark() with both ends in this process: the calling thread and one made
// for each case, connected over the loopback. The second end drives `there`. Cases may be run in
// any order, or left out. `here` must outlive the benchmark. Throws as fabric_benchmark() does.
Benchmark both_ends_benchmark(Machine& here, std::unique_ptr<Machine> there,
                              const FabricOptions& options, const std::function<bool()>& stop);

}  // namespace duet
