// What kernels of reductions are launched with, for the code of CPUs and of GPUs.
#pragma once

#include <cstdint>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

constexpr std::uint32_t kMostParts = 8;

// Block b, of kKernelThreads threads (device/collective_kernel.h), reduces its slice of all parts.
// The kernel of an element type and an operation is duet_reduce_TYPE_OPERATION.
struct ReduceArguments {
  unsigned char* addresses[kMostParts + 1];  // of the parts, in their order, then of the result
  std::uint64_t bytes;                       // of one part
  std::uint32_t parts;
  std::uint32_t share;   // vectors of 16 bytes of every block but the last ones
  std::uint32_t width;   // 16 where all addresses are as far from a multiple of it; else 1
  std::int32_t divisor;  // of the reduced values
};

// How many blocks reduce them; 0 for 0 bytes. Few, so that a GEMM beside keeps the other compute
// units.
int reduce_blocks(const PartsToReduce& reduced);

// For a launch of so many blocks. Throws BadArgument for more than kMostParts.
ReduceArguments reduce_arguments(const PartsToReduce& reduced, int blocks);

}  // namespace duet::nccl_shim::cuda
