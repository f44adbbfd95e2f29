#include <map>
#include <utility>

#include "device/collective_kernel.h"
#include "emulation.h"
#include "kernels_of_reductions.h"
#include "nccl_shim/cuda/reduce_arguments.h"

using duet::nccl_shim::cuda::ReduceArguments;

#define DUET_DECLARE_KERNELS(type)                           \
  extern "C" void duet_reduce_##type##_sum(ReduceArguments); \
  extern "C" void duet_reduce_##type##_max(ReduceArguments); \
  extern "C" void duet_reduce_##type##_min(ReduceArguments); \
  constexpr void (*type##_kernels[])(ReduceArguments) = {    \
      duet_reduce_##type##_sum, duet_reduce_##type##_max, duet_reduce_##type##_min};
DUET_DECLARE_KERNELS(fp32)
DUET_DECLARE_KERNELS(fp16)
DUET_DECLARE_KERNELS(bf16)
DUET_DECLARE_KERNELS(int32)

namespace duet::nccl_shim::testing {

unsigned char* memory_of_both(std::size_t bytes) {
  return static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(256)));
}

void reduce_by_kernel(const PartsToReduce& reduced) {
  const auto& kernels = reduced.type == DType::fp32   ? fp32_kernels
                        : reduced.type == DType::fp16 ? fp16_kernels
                        : reduced.type == DType::bf16 ? bf16_kernels
                                                      : int32_kernels;
  const int kernel = reduced.reduction == Reduction::max   ? 1
                     : reduced.reduction == Reduction::min ? 2
                                                           : 0;
  const int blocks = cuda::reduce_blocks(reduced);
  const ReduceArguments arguments = cuda::reduce_arguments(reduced, blocks);
  emulation::run(dim3(static_cast<unsigned>(blocks)), kKernelThreads, 0,
                 [&] { kernels[kernel](arguments); });
}

}  // namespace duet::nccl_shim::testing
