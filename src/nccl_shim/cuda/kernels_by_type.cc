#include "nccl_shim/cuda/kernels_by_type.h"

#include "core/error.h"

namespace duet::nccl_shim::cuda {
namespace {

constexpr const char* kTypeNames[] = {"fp32", "fp16", "bf16", "int32"};
constexpr const char* kOperationNames[] = {"sum", "max", "min"};

std::size_t type_index(DType type) {
  if (type == DType::fp32) return 0;
  if (type == DType::fp16) return 1;
  if (type == DType::bf16) return 2;
  if (type == DType::int32) return 3;
  throw BadArgument("expected fp32, fp16, bf16 or int32");
}

std::size_t operation_index(Reduction reduction) {
  if (reduction == Reduction::max) return 1;
  return reduction == Reduction::min ? 2 : 0;
}

}  // namespace

KernelsByType::KernelsByType(CUmodule module, const std::string& prefix) {
  for (std::size_t type = 0; type < kTypes; ++type) {
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      const std::string name = prefix + kTypeNames[type] + "_" + kOperationNames[operation];
      check(driver().cuModuleGetFunction(&functions_[type][operation], module, name.c_str()),
            "cuModuleGetFunction");
    }
  }
}

CUfunction KernelsByType::of(DType type, Reduction reduction) const {
  return functions_[type_index(type)][operation_index(reduction)];
}

}  // namespace duet::nccl_shim::cuda
