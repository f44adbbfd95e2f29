// The kernels of packets, which the drop-in carries as an image for the driver.
#include "device/collective_kernel.h"
#include "device/gpu/item_piece.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/packet.h"
#include "device/gpu/system_words.h"
#include "nccl_shim/cuda/packet_arguments.h"
#include "nccl_shim/cuda/reducing_kernels.h"
#include "nccl_shim/protocol/packet_number.h"

namespace duet::DUET_GPU {
namespace {

using nccl_shim::next_number;
using nccl_shim::cuda::kMostExchanging;
using nccl_shim::cuda::PacketArguments;

constexpr unsigned kDataBytes = 8;  // of a packet
// Polls of a packet between two looks whether the exchange has been ended.
constexpr unsigned kPollsPerLook = 512;

__device__ unsigned bytes_of_unit(const PacketArguments& of, std::uint64_t unit) {
  const std::uint64_t left = of.bytes - unit * kDataBytes;
  return left < kDataBytes ? static_cast<unsigned>(left) : kDataBytes;
}

__device__ Pair load_unit(const PacketArguments& of, const unsigned char* part,
                          std::uint64_t unit) {
  const unsigned char* const at = part + unit * kDataBytes;
  const unsigned bytes = bytes_of_unit(of, unit);
  if (of.wide != 0 && bytes == kDataBytes) return *reinterpret_cast<const Pair*>(at);
  std::uint64_t both = 0;
  for (unsigned i = 0; i < bytes; ++i) both |= std::uint64_t{at[i]} << (i * 8);
  return {static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32)};
}

__device__ void store_unit(const PacketArguments& of, unsigned char* part, std::uint64_t unit,
                           const Pair& data) {
  unsigned char* const at = part + unit * kDataBytes;
  const unsigned bytes = bytes_of_unit(of, unit);
  if (of.wide != 0 && bytes == kDataBytes) {
    *reinterpret_cast<Pair*>(at) = data;
    return;
  }
  const std::uint64_t both = std::uint64_t{data.y} << 32 | data.x;
  for (unsigned i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(both >> (i * 8));
}

// A call: its number, and where in a pair's packet buffers it is.
struct Turn {
  std::uint32_t number;
  std::uint64_t offset;
};

__device__ Turn turn_of(const PacketArguments& of) {
  const std::uint32_t number = next_number(load_relaxed(of.last + blockIdx.x));
  return {number, number % 2 * of.turn};
}

// To the ranks behind this one first, so that ranks do not all push to one at a time.
__device__ void push_unit(const PacketArguments& of, std::uint64_t unit, const Turn& turn) {
  std::uint32_t place = of.rank < of.count ? of.rank : 0;
  for (std::uint32_t step = 0; step < of.count; ++step) {
    const PacketArguments::Peer& peer = of.peers[place];
    place = place + 1 < of.count ? place + 1 : 0;
    store_packet(peer.to + turn.offset + unit * kPacketBytes,
                 packet_of(load_unit(of, peer.send, unit), turn.number));
  }
}

// Waits for a unit of each peer. False if the exchange has been ended.
__device__ bool pull_unit(const PacketArguments& of, std::uint64_t unit, const Turn& turn,
                          Pair (&data)[kMostExchanging]) {
  for (unsigned looks = 1;; ++looks) {
    bool come = true;
#pragma unroll
    for (std::uint32_t p = 0; p < kMostExchanging; ++p) {
      if (p >= of.count) continue;
      const Packet packet = load_packet(of.peers[p].from + turn.offset + unit * kPacketBytes);
      come = come && is_of(packet, turn.number);
      data[p] = data_of(packet);
    }
    if (come) return true;
    if (looks % kPollsPerLook == 0 && load_relaxed(of.ended) != 0) return false;
  }
}

struct Moving {
  static __device__ void take(const PacketArguments& of, std::uint64_t unit,
                              const Pair (&data)[kMostExchanging]) {
    if (of.own != of.result) store_unit(of, of.result, unit, load_unit(of, of.own, unit));
#pragma unroll
    for (std::uint32_t p = 0; p < kMostExchanging; ++p) {
      if (p < of.count) store_unit(of, of.peers[p].receive, unit, data[p]);
    }
  }
};

// By value: a choice between places of an array would put it into memory.
__device__ Pair either(bool whether, const Pair& one, const Pair& other) {
  return {whether ? one.x : other.x, whether ? one.y : other.y};
}

// In the order of ranks, so that all have the same bits. In `data` ranks before this one stand at
// their numbers, and ranks behind it one place lower.
template <typename Type, typename Op>
struct Reducing {
  static __device__ void take(const PacketArguments& of, std::uint64_t unit,
                              const Pair (&data)[kMostExchanging]) {
    using Shape = WordPairs<Type>;
    typename Type::Value values[Shape::kCount];
    const Pair own = load_unit(of, of.own, unit);
    set<Shape>(values, either(of.rank == 0, own, data[0]));
#pragma unroll
    for (std::uint32_t rank = 1; rank <= kMostExchanging; ++rank) {
      if (rank > of.count) continue;
      const Pair behind = data[rank - 1];
      const Pair before = rank < kMostExchanging ? data[rank % kMostExchanging] : behind;
      add<Shape, Op>(values, either(rank == of.rank, own, either(rank < of.rank, before, behind)));
    }
    store_unit(of, of.result, unit, rounded<Shape>(values, of.divisor));
  }
};

// Pushes all packets before it waits for any. Each block counts for itself, so that none has to
// wait until all have read the last number. A result may be where parts are that are sent: a thread
// writes the units that it has pushed.
template <typename Take>
__device__ void exchange(const PacketArguments& of) {
  const std::uint64_t units = (of.bytes + kDataBytes - 1) / kDataBytes;
  const std::uint64_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t step = gridDim.x * blockDim.x;
  const std::uint32_t place = threadIdx.x;
  const bool is_own_place = place < of.places && place % gridDim.x == blockIdx.x;
  const Turn turn = turn_of(of);
  if (first == 0) store_relaxed(of.begun, turn.number);
  for (std::uint64_t unit = first; unit < units; unit += step) push_unit(of, unit, turn);
  __syncthreads();  // all threads have read the last number
  if (is_own_place) of.last[place] = turn.number;
  for (std::uint64_t unit = first; unit < units; unit += step) {
    Pair data[kMostExchanging] = {};
    if (!pull_unit(of, unit, turn, data)) break;
    Take::take(of, unit, data);
  }
  __syncthreads();
  if (is_own_place) store_release(of.made + place, turn.number);
}

}  // namespace
}  // namespace duet::DUET_GPU

#define DUET_PACKET_KERNEL(name, ...)                                            \
  extern "C" __global__ void __launch_bounds__(duet::kKernelThreads)             \
      name(const DUET_GPU_PARAMETER duet::nccl_shim::cuda::PacketArguments of) { \
    duet::DUET_GPU::exchange<duet::DUET_GPU::__VA_ARGS__>(of);                   \
  }
#define DUET_REDUCING_KERNEL(type, Lanes, operation, Op) \
  DUET_PACKET_KERNEL(duet_exchange_##type##_##operation, \
                     Reducing<duet::DUET_GPU::Lanes, duet::DUET_GPU::Op>)
DUET_PACKET_KERNEL(duet_exchange, Moving)
DUET_FOR_REDUCING_KERNELS(DUET_REDUCING_KERNEL)
