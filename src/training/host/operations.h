#pragma once

#include <memory>

#include "device/device.h"
#include "training/operations/operations.h"

namespace duet {

// The operations in fp32 as tasks of a stream that runs functions: on a host device the CPU runs
// them; a simulated device takes their time from FLOP and bytes, and runs them where the tensors
// have contents.
std::unique_ptr<Operations> make_cpu_operations(Device& device, const OperationsOptions& options);

}  // namespace duet
