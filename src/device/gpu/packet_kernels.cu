// PacketKernel: every rank pushes packets to its peers and polls for theirs. There is no barrier.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <algorithm>
#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/item_piece.h"
#include "device/gpu/kernel_choice.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/packet.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kWarp = 32;
constexpr int kTogether = 4;  // peers whose packets are in flight at once
// Polls of packet buffers between two checks for failed peers.
constexpr unsigned kPollsPerCheck = 512;

// The half of each packet buffer that a call uses, and the number in its packets. Calls alternate
// between the halves. Before its own packets arrive, a call therefore finds packets of the call
// before the last one in its half; their number differs, although numbers wrap around at 2^32.
struct PacketCall {
  std::uint64_t half;  // offset of the half in a packet buffer, in bytes
  std::uint32_t number;
};

__device__ PacketCall packet_call(const gpu::PacketKernelTable& table, std::uint64_t call) {
  return {(call & 1) * table.units * kPacketBytes, static_cast<std::uint32_t>(call) + 1};
}

__device__ Pair& pair_at(unsigned char* part, unsigned unit) {
  return reinterpret_cast<Pair*>(part)[unit];
}
__device__ const Pair& pair_at(const unsigned char* part, unsigned unit) {
  return reinterpret_cast<const Pair*>(part)[unit];
}

__device__ void push(const gpu::PacketKernelTable& table, const PacketCall& call, unsigned unit) {
  for (int first = 0; first < table.peers; first += kTogether) {
    Pair held[kTogether] = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k < table.peers) held[k] = pair_at(table.by_peer[first + k].source, unit);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k >= table.peers) continue;
      store_packet(table.by_peer[first + k].to_peer + call.half + unit * kPacketBytes,
                   packet_of(held[k], call.number));
    }
  }
}

// Bit k is set if peer `first + k` has failed.
__device__ unsigned gone_peers(const gpu::PacketKernelTable& table, int first) {
  unsigned gone = 0;
  for (int k = 0; k < kTogether && first + k < table.peers; ++k) {
    if (load_acquire(table.by_peer[first + k].awaits + blockIdx.x) != 0) gone |= 1U << k;
  }
  return gone;
}

// Waits for a unit from each of the kTogether peers from `first` on. Entries of `data` beyond the
// last peer are not changed.
__device__ void pull(const gpu::PacketKernelTable& table, const PacketCall& call, unsigned unit,
                     int first, Pair (&data)[kTogether]) {
  unsigned gone = 0;
  for (unsigned looks = 1;; ++looks) {
    Packet packets[kTogether] = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k >= table.peers) continue;
      packets[k] =
          load_packet(table.by_peer[first + k].from_peer + call.half + unit * kPacketBytes);
    }
    bool come = true;
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (first + k >= table.peers) continue;
      come = come && (is_of(packets[k], call.number) || (gone >> k & 1U) != 0);
      data[k] = data_of(packets[k]);
    }
    if (come) return;
    if (looks % kPollsPerCheck == 0) gone = gone_peers(table, first);
  }
}

struct Moving {
  static __device__ void take(const gpu::PacketKernelTable& table, const PacketCall& call,
                              unsigned unit) {
    if (table.source != table.destination) {
      pair_at(table.destination, unit) = pair_at(table.source, unit);
    }
    for (int first = 0; first < table.peers; first += kTogether) {
      Pair data[kTogether];
      pull(table, call, unit, first, data);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (first + k < table.peers) {
          pair_at(table.by_peer[first + k].destination, unit) = data[k];
        }
      }
    }
  }
};

template <typename Type, typename Op>
struct Reducing {
  static __device__ void take(const gpu::PacketKernelTable& table, const PacketCall& call,
                              unsigned unit) {
    using Shape = WordPairs<Type>;
    typename Type::Value values[Shape::kCount];
    set<Shape>(values, pair_at(table.source, unit));
    for (int first = 0; first < table.peers; first += kTogether) {
      Pair data[kTogether];
      pull(table, call, unit, first, data);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (first + k < table.peers) add<Shape, Op>(values, data[k]);
      }
    }
    pair_at(table.destination, unit) = rounded<Shape>(values, table.averages ? table.peers + 1 : 1);
  }
};

// Pushes all packets before it waits for any. The units of a warp are consecutive, and consecutive
// warps of units belong to different blocks, so that a small part keeps all blocks busy.
template <typename Take>
__device__ void push_and_take(const gpu::PacketKernelTable& table) {
  const std::uint64_t number = table.calls[blockIdx.x];
  const PacketCall call = packet_call(table, number);
  const unsigned own = (threadIdx.x / kWarp * gridDim.x + blockIdx.x) * kWarp + threadIdx.x % kWarp;
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned unit = own; unit < table.units; unit += step) push(table, call, unit);
  for (unsigned unit = own; unit < table.units; unit += step) Take::take(table, call, unit);
  __syncthreads();  // all threads have read the number
  if (threadIdx.x == 0) table.calls[blockIdx.x] = number + 1;
}

template <typename Type, typename Op>
__global__ void __launch_bounds__(kKernelThreads)
    packet_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  push_and_take<Reducing<Type, Op>>(table);
}

__global__ void __launch_bounds__(kKernelThreads)
    packet_moves_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  push_and_take<Moving>(table);
}

struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = packet_kernel<Type, Op>;
};

// One thread per unit, up to kKernelThreads.
unsigned threads_for(const gpu::PacketKernelTable& table, unsigned blocks) {
  const unsigned each = (table.units + blocks - 1) / blocks;
  return std::clamp((each + kWarp - 1) / kWarp * kWarp, kWarp, unsigned{kKernelThreads});
}

}  // namespace

void launch_packet_kernel(const gpu::PacketKernelTable& table, bool reduces, DType dtype,
                          Reduction op, int blocks, gpuStream_t stream) {
  const auto kernel = reduces ? kernel_for<Kernels>(dtype, op) : packet_moves_kernel;
  const auto grid = static_cast<unsigned>(blocks);
  kernel<<<dim3(grid), dim3(threads_for(table, grid)), 0, stream>>>(table);
  DUET_GPU_CHECK(gpuGetLastError());
}

void load_packet_kernels() {
  load_kernel(packet_moves_kernel);
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels>(dtype, op));
  }
}

}  // namespace duet::DUET_GPU
