// The kernel of packets, which the drop-in carries as an image for the driver.
#include "device/collective_kernel.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/packet.h"
#include "nccl_shim/cuda/packet_arguments.h"

namespace duet::DUET_GPU {
namespace {

using nccl_shim::cuda::PacketArguments;

constexpr unsigned kDataBytes = 8;  // of a packet
// Polls of a packet between two looks whether the exchange has been ended.
constexpr unsigned kPollsPerLook = 512;

__device__ std::uint32_t load_word(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ unsigned bytes_of_unit(const PacketArguments& of, std::uint64_t unit) {
  const std::uint64_t left = of.bytes - unit * kDataBytes;
  return left < kDataBytes ? static_cast<unsigned>(left) : kDataBytes;
}

__device__ Pair load_unit(const PacketArguments& of, const unsigned char* part,
                          std::uint64_t unit) {
  const unsigned char* const at = part + unit * kDataBytes;
  const unsigned bytes = bytes_of_unit(of, unit);
  if (of.wide != 0 && bytes == kDataBytes) return *reinterpret_cast<const Pair*>(at);
  std::uint32_t words[2] = {};
  for (unsigned i = 0; i < bytes; ++i) words[i / 4] |= std::uint32_t{at[i]} << (i % 4 * 8);
  return {words[0], words[1]};
}

__device__ void store_unit(const PacketArguments& of, unsigned char* part, std::uint64_t unit,
                           const Pair& data) {
  unsigned char* const at = part + unit * kDataBytes;
  const unsigned bytes = bytes_of_unit(of, unit);
  if (of.wide != 0 && bytes == kDataBytes) {
    *reinterpret_cast<Pair*>(at) = data;
    return;
  }
  const std::uint32_t words[2] = {data.x, data.y};
  for (unsigned i = 0; i < bytes; ++i) {
    at[i] = static_cast<unsigned char>(words[i / 4] >> (i % 4 * 8));
  }
}

// False if the exchange has been ended.
__device__ bool pull_unit(const PacketArguments& of, const PacketArguments::Peer& peer,
                          std::uint64_t unit) {
  for (unsigned looks = 1;; ++looks) {
    const Packet packet = load_packet(peer.from + unit * kPacketBytes);
    if (is_of(packet, of.number)) {
      store_unit(of, peer.receive, unit, data_of(packet));
      return true;
    }
    if (looks % kPollsPerLook == 0 && load_word(of.end) != 0) return false;
  }
}

// Pushes all packets before it waits for any.
__device__ void exchange(const PacketArguments& of) {
  const std::uint64_t units = (of.bytes + kDataBytes - 1) / kDataBytes;
  const std::uint64_t own = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t step = gridDim.x * blockDim.x;
  for (std::uint32_t p = 0; p < of.count; ++p) {
    for (std::uint64_t unit = own; unit < units; unit += step) {
      store_packet(of.peers[p].to + unit * kPacketBytes,
                   packet_of(load_unit(of, of.peers[p].send, unit), of.number));
    }
  }
  for (std::uint32_t p = 0; p < of.count; ++p) {
    for (std::uint64_t unit = own; unit < units; unit += step) {
      if (!pull_unit(of, of.peers[p], unit)) return;
    }
  }
}

}  // namespace
}  // namespace duet::DUET_GPU

extern "C" __global__ void __launch_bounds__(duet::kKernelThreads)
    duet_exchange(const DUET_GPU_PARAMETER duet::nccl_shim::cuda::PacketArguments of) {
  duet::DUET_GPU::exchange(of);
}
