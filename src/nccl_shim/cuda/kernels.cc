#include "nccl_shim/cuda/kernels.h"

#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "device/collective_kernel.h"
#include "nccl_shim/cuda/kernel_arguments.h"

// Code of a .cu file for the architectures of this build.
#define DUET_IMAGE(name, path)                        \
  asm(".pushsection .rodata\n"                        \
      ".balign 16\n"                                  \
      ".globl " #name                                 \
      "\n"                                            \
      ".hidden " #name "\n" #name ": .incbin \"" path \
      "\"\n"                                          \
      ".popsection\n");                               \
  extern "C" [[gnu::visibility("hidden")]] const unsigned char name[]
DUET_IMAGE(duet_chunk_image, DUET_CHUNK_IMAGE);    // chunk_kernels.cu
DUET_IMAGE(duet_packet_image, DUET_PACKET_IMAGE);  // packet_kernels.cu
DUET_IMAGE(duet_reduce_image, DUET_REDUCE_IMAGE);  // reduce_kernels.cu

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

template <typename Kernels, typename Make>
const Kernels& in_current_context(const Make& make) {
  static auto& mutex = *new std::mutex;  // never ended: communicators may be, after static objects
  static auto& loaded = *new std::map<CUcontext, std::unique_ptr<const Kernels>>;
  CUcontext context = nullptr;
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const Kernels>& found = loaded[context];
  if (found == nullptr) found.reset(make());
  return *found;
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

PacketKernels::PacketKernels() {
  CUmodule module = nullptr;  // never unloaded, as that of ReduceKernels
  check(driver().cuModuleLoadData(&module, duet_packet_image), "cuModuleLoadData");
  check(driver().cuModuleGetFunction(&moves_, module, "duet_exchange"), "cuModuleGetFunction");
  reduces_ = KernelsByType(module, "duet_exchange_");
}

const PacketKernels& PacketKernels::of_current_context() {
  return in_current_context<PacketKernels>([] { return new PacketKernels; });
}

void PacketKernels::launch(const PacketExchange& exchanged, CUdeviceptr words,
                           CUstream stream) const {
  const auto& reduced = exchanged.reduced;
  PacketArguments arguments = packet_arguments(exchanged, words);
  void* parameters[] = {&arguments};
  check(driver().cuLaunchKernel(
            reduced ? reduces_.of(reduced->type, reduced->reduction) : moves_,
            static_cast<unsigned>(gpu::packet_blocks(exchanged.bytes, kPacketBlocks)), 1, 1,
            kKernelThreads, 1, 1, 0, stream, parameters, nullptr),
        "cuLaunchKernel");
}

ChunkKernels::ChunkKernels() {
  CUmodule module = nullptr;  // never unloaded, as that of ReduceKernels
  check(driver().cuModuleLoadData(&module, duet_chunk_image), "cuModuleLoadData");
  check(driver().cuModuleGetFunction(&moves_, module, "duet_chunks"), "cuModuleGetFunction");
  reduces_ = KernelsByType(module, "duet_chunks_");
}

const ChunkKernels& ChunkKernels::of_current_context() {
  return in_current_context<ChunkKernels>([] { return new ChunkKernels; });
}

void ChunkKernels::launch(const ChunkExchange& exchanged, CUdeviceptr words,
                          CUstream stream) const {
  const auto& reduced = exchanged.reduced;
  ChunkArguments arguments = chunk_arguments(exchanged, words);
  void* parameters[] = {&arguments};
  check(driver().cuLaunchKernel(reduced ? reduces_.of(reduced->type, reduced->reduction) : moves_,
                                arguments.blocks, 1, 1, kKernelThreads, 1, 1, 0, stream, parameters,
                                nullptr),
        "cuLaunchKernel");
}

ReduceKernels::ReduceKernels() {
  CUmodule module = nullptr;  // never unloaded, which could wait for streams that wait for a peer
  check(driver().cuModuleLoadData(&module, duet_reduce_image), "cuModuleLoadData");
  kernels_ = KernelsByType(module, "duet_reduce_");
}

const ReduceKernels& ReduceKernels::of_current_context() {
  return in_current_context<ReduceKernels>([] { return new ReduceKernels; });
}

void ReduceKernels::launch(const PartsToReduce& reduced, CUstream stream) const {
  const int blocks = reduce_blocks(reduced);
  if (blocks == 0) return;
  ReduceArguments arguments = reduce_arguments(reduced, blocks);
  void* parameters[] = {&arguments};
  check(driver().cuLaunchKernel(kernels_.of(reduced.type, reduced.reduction),
                                static_cast<unsigned>(blocks), 1, 1, kKernelThreads, 1, 1, 0,
                                stream, parameters, nullptr),
        "cuLaunchKernel");
}

}  // namespace duet::nccl_shim::cuda
