#include "nccl_shim/cuda/packets.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "device/collective_kernel.h"
#include "nccl_shim/cuda/packet_arguments.h"

// Code of packet_kernel.cu for the architectures of this build.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".globl duet_packet_image\n"
    ".hidden duet_packet_image\n"
    "duet_packet_image: .incbin \"" DUET_PACKET_IMAGE
    "\"\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] const unsigned char duet_packet_image[];

namespace duet::nccl_shim::cuda {
namespace {

PacketArguments packet_arguments(const PacketExchange& exchanged, CUdeviceptr words) {
  if (exchanged.peers.size() > kMostExchanging) throw BadArgument("expected at most 7 peers");
  PacketArguments made{};
  std::uintptr_t together = 0;
  for (const PacketExchange::Peer& each : exchanged.peers) {
    made.peers[made.count++] = {
        static_cast<const unsigned char*>(each.send), static_cast<unsigned char*>(each.to),
        static_cast<const unsigned char*>(each.from), static_cast<unsigned char*>(each.receive)};
    together |= reinterpret_cast<std::uintptr_t>(each.send);
    together |= reinterpret_cast<std::uintptr_t>(each.receive);
  }
  const auto word = [words](std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(words + offset);
  };
  made.last = exchanged.last;
  made.begun = word(offsetof(PacketWords, begun));
  made.made = word(offsetof(PacketWords, made));
  made.ended = word(offsetof(PacketWords, ended));
  made.bytes = exchanged.bytes;
  made.turn = exchanged.turn;
  made.places = kPacketBlocks;
  made.wide = together % 8 == 0 ? 1 : 0;
  return made;
}

}  // namespace

PacketKernel::PacketKernel() {
  CUmodule module = nullptr;  // never unloaded, as that of ReduceKernels
  check(driver().cuModuleLoadData(&module, duet_packet_image), "cuModuleLoadData");
  check(driver().cuModuleGetFunction(&function_, module, "duet_exchange"), "cuModuleGetFunction");
}

const PacketKernel& PacketKernel::of_current_context() {
  static auto& mutex = *new std::mutex;  // never ended: communicators may be, after static objects
  static auto& loaded = *new std::map<CUcontext, std::unique_ptr<const PacketKernel>>;
  CUcontext context = nullptr;
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<const PacketKernel>& found = loaded[context];
  if (found == nullptr) found.reset(new PacketKernel);
  return *found;
}

void PacketKernel::launch(const PacketExchange& exchanged, CUdeviceptr words,
                          CUstream stream) const {
  PacketArguments arguments = packet_arguments(exchanged, words);
  constexpr std::size_t kRound = std::size_t{8} * kKernelThreads;
  const std::size_t blocks =
      std::clamp<std::size_t>((exchanged.bytes + kRound - 1) / kRound, 1, kPacketBlocks);
  void* parameters[] = {&arguments};
  check(driver().cuLaunchKernel(function_, static_cast<unsigned>(blocks), 1, 1, kKernelThreads, 1,
                                1, 0, stream, parameters, nullptr),
        "cuLaunchKernel");
}

}  // namespace duet::nccl_shim::cuda
