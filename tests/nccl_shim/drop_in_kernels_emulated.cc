#include <map>
#include <new>
#include <string>

#include "device/collective_kernel.h"
#include "drop_in_kernels.h"
#include "emulation.h"
#include "fake_gpu/cuda/kernels.h"
#include "nccl_shim/cuda/kernel_arguments.h"

using duet::nccl_shim::cuda::ChunkArguments;
using duet::nccl_shim::cuda::PacketArguments;
using duet::nccl_shim::cuda::ReduceArguments;

extern "C" void duet_exchange(PacketArguments);
extern "C" void duet_chunks(ChunkArguments);
#define DUET_DECLARE_KERNELS(type, Lanes, operation, Op)               \
  extern "C" void duet_reduce_##type##_##operation(ReduceArguments);   \
  extern "C" void duet_exchange_##type##_##operation(PacketArguments); \
  extern "C" void duet_chunks_##type##_##operation(ChunkArguments);
DUET_FOR_REDUCING_KERNELS(DUET_DECLARE_KERNELS)

namespace duet::nccl_shim::testing {
namespace {

template <typename Arguments>
using Kernels = std::map<std::string, void (*)(Arguments)>;

#define DUET_NAMED_REDUCE(type, Lanes, operation, Op) \
  {#type "_" #operation, duet_reduce_##type##_##operation},
#define DUET_NAMED_EXCHANGE(type, Lanes, operation, Op) \
  {#type "_" #operation, duet_exchange_##type##_##operation},
#define DUET_NAMED_CHUNKS(type, Lanes, operation, Op) \
  {#type "_" #operation, duet_chunks_##type##_##operation},
const Kernels<ChunkArguments> chunk_kernels = {DUET_FOR_REDUCING_KERNELS(DUET_NAMED_CHUNKS)};
const Kernels<ReduceArguments> reduce_kernels = {DUET_FOR_REDUCING_KERNELS(DUET_NAMED_REDUCE)};
const Kernels<PacketArguments> packet_kernels = {DUET_FOR_REDUCING_KERNELS(DUET_NAMED_EXCHANGE)};

std::string kernel_name(DType type, Reduction reduction) {
  return name_of({type, reduction == Reduction::avg ? Reduction::sum : reduction});
}

}  // namespace

unsigned char* memory_of_both(std::size_t bytes) {
  return static_cast<unsigned char*>(::operator new(bytes, std::align_val_t(256)));
}

void reduce_by_kernel(const PartsToReduce& reduced) {
  const auto kernel = reduce_kernels.at(kernel_name(reduced.type, reduced.reduction));
  const int blocks = cuda::reduce_blocks(reduced);
  const ReduceArguments arguments = cuda::reduce_arguments(reduced, blocks);
  emulation::run(dim3(static_cast<unsigned>(blocks)), kKernelThreads, 0,
                 [&] { kernel(arguments); });
}

ExchangeWords& words_of_both() {
  static ExchangeWords words{};
  return words;
}

void exchange_by_kernel(const PacketExchange& exchanged) {
  void (*kernel)(PacketArguments) = duet_exchange;
  if (exchanged.reduced) {
    kernel = packet_kernels.at(kernel_name(exchanged.reduced->type, exchanged.reduced->reduction));
  }
  const PacketArguments arguments =
      cuda::packet_arguments(exchanged, reinterpret_cast<std::uintptr_t>(exchanged.words));
  emulation::run(dim3(static_cast<unsigned>(gpu::packet_blocks(exchanged.bytes, kPacketBlocks))),
                 kKernelThreads, 0, [&] { kernel(arguments); });
}

void exchange_by_kernel(const ChunkExchange& exchanged) {
  host::exchange_chunks(
      cuda::chunk_arguments(exchanged, reinterpret_cast<std::uintptr_t>(exchanged.words)),
      exchanged.reduced);
}

}  // namespace duet::nccl_shim::testing

namespace duet::nccl_shim::host {

// In the place of the stand-in's, whose blocks have one thread.
void exchange_chunks(const cuda::ChunkArguments& arguments,
                     const std::optional<Exchange::Reduced>& reduced) {
  void (*kernel)(ChunkArguments) = duet_chunks;
  if (reduced) {
    kernel = testing::chunk_kernels.at(testing::kernel_name(reduced->type, reduced->reduction));
  }
  emulation::run(dim3(arguments.blocks), kKernelThreads, 0, [&] { kernel(arguments); });
}

}  // namespace duet::nccl_shim::host
