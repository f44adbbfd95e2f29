#pragma once

#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/cuda/kernels_by_type.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// The kernels of packets in one context, for as long as the context lives.
class PacketKernels {
 public:
  // Those of the current context, loaded at the first call, as ReduceKernels. Thread-safe. Throws
  // Error.
  static const PacketKernels& of_current_context();

  // In the context of these kernels. `words`: the address of the exchange's for the device. What is
  // reduced has the bits of host::reduce_parts(), but for those of NaNs.
  void launch(const PacketExchange& exchanged, CUdeviceptr words, CUstream stream) const;

 private:
  PacketKernels();

  CUfunction moves_ = nullptr;
  KernelsByType reduces_;
};

}  // namespace duet::nccl_shim::cuda
