#include "nccl_shim/cuda/reduction.h"

#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "device/collective_kernel.h"
#include "nccl_shim/cuda/reduce_arguments.h"

// Code of reduce_kernels.cu for the architectures of this build.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".globl duet_reduce_image\n"
    ".hidden duet_reduce_image\n"
    "duet_reduce_image: .incbin \"" DUET_REDUCE_IMAGE
    "\"\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] const unsigned char duet_reduce_image[];

namespace duet::nccl_shim::cuda {

ReduceKernels::ReduceKernels() {
  CUmodule module = nullptr;  // never unloaded, which could wait for streams that wait for a peer
  check(driver().cuModuleLoadData(&module, duet_reduce_image), "cuModuleLoadData");
  kernels_ = KernelsByType(module, "duet_reduce_");
}

const ReduceKernels& ReduceKernels::of_current_context() {
  static auto& mutex = *new std::mutex;  // never ended: communicators may be, after static objects
  static auto& loaded = *new std::map<CUcontext, std::unique_ptr<const ReduceKernels>>;
  CUcontext context = nullptr;
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const ReduceKernels>& found = loaded[context];
  if (found == nullptr) found.reset(new ReduceKernels);
  return *found;
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
