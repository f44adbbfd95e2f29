#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/dtype.h"
#include "core/reduction.h"
#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

// The kernels PREFIXtype_operation of a module, such as PREFIXbf16_sum, one for each type of
// element that is reduced. An average is a sum that the kernel divides.
class KernelsByType {
 public:
  KernelsByType() = default;
  // With lazy loading a kernel is loaded when it is looked up. Throws Error.
  KernelsByType(CUmodule module, const std::string& prefix);

  CUfunction of(DType type, Reduction reduction) const;  // throws BadArgument for other types

 private:
  static constexpr std::size_t kTypes = 4, kOperations = 3;
  std::array<std::array<CUfunction, kOperations>, kTypes> functions_{};
};

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

// The kernels of chunks in one context, likewise.
class ChunkKernels {
 public:
  static const ChunkKernels& of_current_context();
  void launch(const ChunkExchange& exchanged, CUdeviceptr words, CUstream stream) const;

 private:
  ChunkKernels();

  CUfunction moves_ = nullptr;
  KernelsByType reduces_;
};

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
