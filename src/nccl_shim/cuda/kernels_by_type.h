#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/dtype.h"
#include "core/reduction.h"
#include "nccl_shim/cuda/driver.h"

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

}  // namespace duet::nccl_shim::cuda
