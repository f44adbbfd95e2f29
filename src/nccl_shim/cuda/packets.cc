#include "nccl_shim/cuda/packets.h"

#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "device/collective_kernel.h"
#include "nccl_shim/cuda/packet_arguments.h"

// Code of packet_kernels.cu for the architectures of this build.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".globl duet_packet_image\n"
    ".hidden duet_packet_image\n"
    "duet_packet_image: .incbin \"" DUET_PACKET_IMAGE
    "\"\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] const unsigned char duet_packet_image[];

namespace duet::nccl_shim::cuda {

PacketKernels::PacketKernels() {
  CUmodule module = nullptr;  // never unloaded, as that of ReduceKernels
  check(driver().cuModuleLoadData(&module, duet_packet_image), "cuModuleLoadData");
  check(driver().cuModuleGetFunction(&moves_, module, "duet_exchange"), "cuModuleGetFunction");
  reduces_ = KernelsByType(module, "duet_exchange_");
}

const PacketKernels& PacketKernels::of_current_context() {
  static auto& mutex = *new std::mutex;  // never ended: communicators may be, after static objects
  static auto& loaded = *new std::map<CUcontext, std::unique_ptr<const PacketKernels>>;
  CUcontext context = nullptr;
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const PacketKernels>& found = loaded[context];
  if (found == nullptr) found.reset(new PacketKernels);
  return *found;
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

}  // namespace duet::nccl_shim::cuda
