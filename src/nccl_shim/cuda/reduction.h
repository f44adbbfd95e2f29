#pragma once

#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/cuda/kernels_by_type.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// The kernels of reductions in one context, for as long as the context lives.
class ReduceKernels {
 public:
  // Those of the current context, loaded at the first call: later launches load nothing, which
  // could wait for the device. Thread-safe. Throws Error.
  static const ReduceKernels& of_current_context();

  // In the context of these kernels. The result is host::reduce_parts()'s to the bit, but for the
  // bits of NaNs. Addresses are multiples of an element's size.
  void launch(const PartsToReduce& reduced, CUstream stream) const;

 private:
  ReduceKernels();

  KernelsByType kernels_;
};

}  // namespace duet::nccl_shim::cuda
