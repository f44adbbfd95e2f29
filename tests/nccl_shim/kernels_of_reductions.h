// The drop-in's kernels of reductions, on a GPU or emulated on a CPU.
#pragma once

#include <cstddef>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::testing {

// What kernels and CPU reach, for as long as the program runs; aligned to 256 bytes.
unsigned char* memory_of_both(std::size_t bytes);

// Runs the kernel, and waits for its end.
void reduce_by_kernel(const PartsToReduce& reduced);

}  // namespace duet::nccl_shim::testing
