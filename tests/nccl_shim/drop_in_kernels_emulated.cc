#include <new>

#include "device/collective_kernel.h"
#include "drop_in_kernels.h"
#include "emulation.h"
#include "nccl_shim/cuda/packet_arguments.h"
#include "nccl_shim/cuda/reduce_arguments.h"

using duet::nccl_shim::cuda::PacketArguments;
using duet::nccl_shim::cuda::ReduceArguments;

extern "C" void duet_exchange(PacketArguments);
#define DUET_DECLARE_KERNELS(prefix, type, Arguments)                                             \
  extern "C" void prefix##_##type##_sum(Arguments);                                               \
  extern "C" void prefix##_##type##_max(Arguments);                                               \
  extern "C" void prefix##_##type##_min(Arguments);                                               \
  constexpr void (*prefix##_##type[])(Arguments) = {prefix##_##type##_sum, prefix##_##type##_max, \
                                                    prefix##_##type##_min};
#define DUET_DECLARE_ALL_TYPES(prefix, Arguments) \
  DUET_DECLARE_KERNELS(prefix, fp32, Arguments)   \
  DUET_DECLARE_KERNELS(prefix, fp16, Arguments)   \
  DUET_DECLARE_KERNELS(prefix, bf16, Arguments)   \
  DUET_DECLARE_KERNELS(prefix, int32, Arguments)
DUET_DECLARE_ALL_TYPES(duet_reduce, ReduceArguments)
DUET_DECLARE_ALL_TYPES(duet_exchange, PacketArguments)

namespace duet::nccl_shim::testing {
namespace {

// Of one type's kernels that which is of an operation.
std::size_t place_of(Reduction reduction) {
  if (reduction == Reduction::max) return 1;
  return reduction == Reduction::min ? 2 : 0;
}

}  // namespace

unsigned char* memory_of_both(std::size_t bytes) {
  return static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(256)));
}

void reduce_by_kernel(const PartsToReduce& reduced) {
  const auto& kernels = reduced.type == DType::fp32   ? duet_reduce_fp32
                        : reduced.type == DType::fp16 ? duet_reduce_fp16
                        : reduced.type == DType::bf16 ? duet_reduce_bf16
                                                      : duet_reduce_int32;
  const int blocks = cuda::reduce_blocks(reduced);
  const ReduceArguments arguments = cuda::reduce_arguments(reduced, blocks);
  emulation::run(dim3(static_cast<unsigned>(blocks)), kKernelThreads, 0,
                 [&] { kernels[place_of(reduced.reduction)](arguments); });
}

PacketWords& words_of_both() {
  static PacketWords words{};
  return words;
}

void exchange_by_kernel(const PacketExchange& exchanged) {
  void (*kernel)(PacketArguments) = duet_exchange;
  if (exchanged.reduced) {
    const DType type = exchanged.reduced->type;
    const auto& kernels = type == DType::fp32   ? duet_exchange_fp32
                          : type == DType::fp16 ? duet_exchange_fp16
                          : type == DType::bf16 ? duet_exchange_bf16
                                                : duet_exchange_int32;
    kernel = kernels[place_of(exchanged.reduced->reduction)];
  }
  const PacketArguments arguments =
      cuda::packet_arguments(exchanged, reinterpret_cast<std::uintptr_t>(exchanged.words));
  emulation::run(dim3(static_cast<unsigned>(cuda::packet_blocks(exchanged.bytes))), kKernelThreads,
                 0, [&] { kernel(arguments); });
}

}  // namespace duet::nccl_shim::testing
