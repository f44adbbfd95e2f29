// The kernel of packets, which the drop-in carries as an image for the driver.
#include "device/collective_kernel.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/packet.h"
#include "nccl_shim/cuda/packet_arguments.h"
#include "nccl_shim/protocol/packet_number.h"

namespace duet::DUET_GPU {
namespace {

using nccl_shim::next_number;
using nccl_shim::cuda::PacketArguments;

constexpr unsigned kDataBytes = 8;  // of a packet
// Polls of a packet between two looks whether the exchange has been ended.
constexpr unsigned kPollsPerLook = 512;

__device__ std::uint32_t load_word(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ void store_word(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
// Behind all that the block has done before a barrier.
__device__ void release_word(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
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

// A call: its number, and where in a pair's packet buffers it is.
struct Turn {
  std::uint32_t number;
  std::uint64_t offset;
};

// False if the exchange has been ended.
__device__ bool pull_unit(const PacketArguments& of, const PacketArguments::Peer& peer,
                          std::uint64_t unit, const Turn& turn) {
  for (unsigned looks = 1;; ++looks) {
    const Packet packet = load_packet(peer.from + turn.offset + unit * kPacketBytes);
    if (is_of(packet, turn.number)) {
      store_unit(of, peer.receive, unit, data_of(packet));
      return true;
    }
    if (looks % kPollsPerLook == 0 && load_word(of.ended) != 0) return false;
  }
}

__device__ void push(const PacketArguments& of, const Turn& turn) {
  const std::uint64_t units = (of.bytes + kDataBytes - 1) / kDataBytes;
  const std::uint64_t step = gridDim.x * blockDim.x;
  for (std::uint32_t p = 0; p < of.count; ++p) {
    for (std::uint64_t unit = blockIdx.x * blockDim.x + threadIdx.x; unit < units; unit += step) {
      store_packet(of.peers[p].to + turn.offset + unit * kPacketBytes,
                   packet_of(load_unit(of, of.peers[p].send, unit), turn.number));
    }
  }
}

__device__ void pull(const PacketArguments& of, const Turn& turn) {
  const std::uint64_t units = (of.bytes + kDataBytes - 1) / kDataBytes;
  const std::uint64_t step = gridDim.x * blockDim.x;
  for (std::uint32_t p = 0; p < of.count; ++p) {
    for (std::uint64_t unit = blockIdx.x * blockDim.x + threadIdx.x; unit < units; unit += step) {
      if (!pull_unit(of, of.peers[p], unit, turn)) return;
    }
  }
}

// Pushes all packets before it waits for any. Each block counts for itself, so that none has to
// wait until all have read the last number.
__device__ void exchange(const PacketArguments& of) {
  const std::uint32_t number = next_number(load_word(of.last + blockIdx.x));
  const Turn turn = {number, number % 2 * of.turn};
  const std::uint32_t place = threadIdx.x;
  const bool is_own_place = place < of.places && place % gridDim.x == blockIdx.x;
  if (place == 0 && blockIdx.x == 0) store_word(of.begun, number);
  push(of, turn);
  __syncthreads();  // all threads have read the last number
  if (is_own_place) of.last[place] = number;
  pull(of, turn);
  __syncthreads();
  if (is_own_place) release_word(of.made + place, number);
}

}  // namespace
}  // namespace duet::DUET_GPU

extern "C" __global__ void __launch_bounds__(duet::kKernelThreads)
    duet_exchange(const DUET_GPU_PARAMETER duet::nccl_shim::cuda::PacketArguments of) {
  duet::DUET_GPU::exchange(of);
}
