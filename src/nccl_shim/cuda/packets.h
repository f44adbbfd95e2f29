#pragma once

#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// The kernel of packets in one context, for as long as the context lives.
class PacketKernel {
 public:
  // That of the current context, loaded at the first call, as ReduceKernels. Thread-safe. Throws
  // Error.
  static const PacketKernel& of_current_context();

  // In its context. `words`: the address of the exchange's for the device.
  void launch(const PacketExchange& exchanged, CUdeviceptr words, CUstream stream) const;

 private:
  PacketKernel();

  CUfunction function_ = nullptr;
};

}  // namespace duet::nccl_shim::cuda
