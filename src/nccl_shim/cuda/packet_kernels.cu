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
// After so many polls in vain a thread tells the CPU for which ranks it waits, and looks whether
// the CPU has ended the exchange.
constexpr unsigned kPollsPerReport = 512;

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

// How many units a thread loads before it uses the first: four of the peer's part where there are
// two ranks, otherwise one of each peer's. Loads one after the other would each take the latency of
// memory.
template <std::uint32_t kPeers, unsigned kUnits>
struct GroupOf {
  static constexpr std::uint32_t kMostPeers = kPeers;
  static constexpr unsigned kTogether = kUnits;
};
using OfTwoRanks = GroupOf<1, 4>;
using OfMoreRanks = GroupOf<kMostExchanging, 1>;

// The units `unit`, unit + step, ... of a part, kTogether at most; those from `end` on do not
// exist.
template <typename Group>
struct Units {
  std::uint64_t unit, step, end;
  __device__ std::uint64_t at(unsigned i) const { return unit + i * step; }
  __device__ bool has(unsigned i) const { return at(i) < end; }
};

template <typename Group>
__device__ void load_units(const PacketArguments& of, const unsigned char* part,
                           const Units<Group>& units, Pair (&data)[Group::kTogether]) {
#pragma unroll
  for (unsigned i = 0; i < Group::kTogether; ++i) {
    if (units.has(i)) data[i] = load_unit(of, part, units.at(i));
  }
}

// To the ranks behind this one first, so that ranks do not all push to one at a time.
template <typename Group>
__device__ void push_units(const PacketArguments& of, const Units<Group>& units, const Turn& turn) {
  std::uint32_t place = of.rank < of.count ? of.rank : 0;
  for (std::uint32_t step = 0; step < of.count; ++step) {
    const PacketArguments::Peer& peer = of.peers[place];
    place = place + 1 < of.count ? place + 1 : 0;
    Pair data[Group::kTogether] = {};
    load_units(of, peer.send, units, data);
#pragma unroll
    for (unsigned i = 0; i < Group::kTogether; ++i) {
      if (!units.has(i)) continue;
      store_packet(peer.to + turn.offset + units.at(i) * kPacketBytes,
                   packet_of(data[i], turn.number));
    }
  }
}

__device__ Packet packet_from(const PacketArguments& of, std::uint32_t p, std::uint64_t unit,
                              const Turn& turn) {
  return load_packet(of.peers[p].from + turn.offset + unit * kPacketBytes);
}

// Tells the CPU whose packets are missing. False if it has ended the exchange.
template <typename Group>
__device__ bool report(const PacketArguments& of, const Units<Group>& units, const Turn& turn) {
  for (std::uint32_t p = 0; p < of.count; ++p) {
    bool come = true;
    for (unsigned i = 0; i < Group::kTogether && units.has(i); ++i) {
      come = come && is_of(packet_from(of, p, units.at(i), turn), turn.number);
    }
    if (!come) store_relaxed(of.awaited + (p < of.rank ? p : p + 1), 1);
  }
  return load_relaxed(of.ended) == 0;
}

// Waits for the units of each peer. False if the exchange has been ended.
template <typename Group>
__device__ bool pull_units(const PacketArguments& of, const Units<Group>& units, const Turn& turn,
                           Pair (&data)[Group::kTogether][Group::kMostPeers]) {
  for (unsigned polls = 1;; ++polls) {
    bool come = true;
#pragma unroll
    for (unsigned i = 0; i < Group::kTogether; ++i) {
      if (!units.has(i)) continue;
#pragma unroll
      for (std::uint32_t p = 0; p < Group::kMostPeers; ++p) {
        if (p >= of.count) continue;
        const Packet packet = packet_from(of, p, units.at(i), turn);
        come = come && is_of(packet, turn.number);
        data[i][p] = data_of(packet);
      }
    }
    if (come) return true;
    if (polls % kPollsPerReport == 0 && !report(of, units, turn)) return false;
  }
}

struct Moving {
  static __device__ bool needs_own(const PacketArguments& of) { return of.own != of.result; }

  template <std::uint32_t kPeers>
  static __device__ void take(const PacketArguments& of, std::uint64_t unit, const Pair& own,
                              const Pair (&data)[kPeers]) {
    if (needs_own(of)) store_unit(of, of.result, unit, own);
#pragma unroll
    for (std::uint32_t p = 0; p < kPeers; ++p) {
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
  static __device__ bool needs_own(const PacketArguments&) { return true; }

  template <std::uint32_t kPeers>
  static __device__ void take(const PacketArguments& of, std::uint64_t unit, const Pair& own,
                              const Pair (&data)[kPeers]) {
    using Shape = WordPairs<Type>;
    typename Type::Value values[Shape::kCount];
    set<Shape>(values, either(of.rank == 0, own, data[0]));
#pragma unroll
    for (std::uint32_t rank = 1; rank <= kPeers; ++rank) {
      if (rank > of.count) continue;
      const Pair behind = data[rank - 1];
      const Pair before = rank < kPeers ? data[rank % kPeers] : behind;
      add<Shape, Op>(values, either(rank == of.rank, own, either(rank < of.rank, before, behind)));
    }
    store_unit(of, of.result, unit, rounded<Shape>(values, of.divisor));
  }
};

// Pushes all packets before it waits for any. Each block counts for itself, so that none has to
// wait until all have read the last number. A result may be where parts are that are sent: a thread
// writes the units that it has pushed.
template <typename Take, typename Group>
__device__ void exchange_groups(const PacketArguments& of) {
  const std::uint64_t end = (of.bytes + kDataBytes - 1) / kDataBytes;
  const std::uint64_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t step = gridDim.x * blockDim.x;
  const std::uint32_t place = threadIdx.x;
  const bool is_own_place = place < of.places && place % gridDim.x == blockIdx.x;
  const Turn turn = turn_of(of);
  for (std::uint64_t unit = first; unit < end; unit += Group::kTogether * step) {
    push_units(of, Units<Group>{unit, step, end}, turn);
  }
  __syncthreads();  // all threads have read the last number
  if (is_own_place) of.last[place] = turn.number;
  for (std::uint64_t unit = first; unit < end; unit += Group::kTogether * step) {
    const Units<Group> units{unit, step, end};
    Pair own[Group::kTogether] = {}, data[Group::kTogether][Group::kMostPeers] = {};
    if (Take::needs_own(of)) load_units(of, of.own, units, own);
    if (!pull_units(of, units, turn, data)) return;
#pragma unroll
    for (unsigned i = 0; i < Group::kTogether; ++i) {
      if (units.has(i)) Take::take(of, units.at(i), own[i], data[i]);
    }
  }
}

template <typename Take>
__device__ void exchange(const PacketArguments& of) {
  if (of.count == 1) {
    exchange_groups<Take, OfTwoRanks>(of);
  } else {
    exchange_groups<Take, OfMoreRanks>(of);
  }
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
