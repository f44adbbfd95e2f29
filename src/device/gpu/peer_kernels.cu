// PeerKernel: a barrier with the peers, copies and reductions, and a second barrier.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/item_slices.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/peer_barrier.h"
#include "device/gpu/reduction_words.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kWarp = 32;  // threads; half a wave on devices whose waves have 64
constexpr unsigned kWarps = kKernelThreads / kWarp;
constexpr int kMovesInFlight = 4;  // loads per thread; with 64 blocks enough to saturate all links

// The moves of a launch run concurrently, each by a part of the block's warps. All links are
// therefore busy from the start, and the ranks do not all write to the same peer at the same time.
template <typename Table>
__device__ void move_all(const Table& table) {
  const unsigned moves = static_cast<unsigned>(table.move_count);
  if (moves == 0) return;
  const unsigned groups = moves < kWarps ? moves : kWarps;
  const unsigned warp = threadIdx.x / kWarp, own = warp % groups;
  const unsigned warps = (kWarps - own + groups - 1) / groups;
  const ThreadGroup group{warp / groups * kWarp + threadIdx.x % kWarp, warps * kWarp};
  for (unsigned i = own; i < moves; i += groups) {
    const auto& move = table.moves[i];
    const BlockSlice slice = own_slice(move.bytes, move.share);
    if (slice.begin == slice.end) continue;
    const Piece piece{table.addresses + move.source,
                      table.addresses + move.destination,
                      1,
                      1,
                      slice.begin,
                      0,
                      group};
    copy_slice<kMovesInFlight>(piece, slice.end - slice.begin, move.width);
  }
}

template <typename Type, typename Op, typename Table>
__device__ void reduce_all(const Table& table) {
  for (int i = 0; i < table.reduction_count; ++i) {
    const auto& item = table.reductions[i];
    const BlockSlice slice = own_slice(item.bytes, item.share);
    if (slice.begin == slice.end) continue;
    unsigned char* const* const addresses = table.addresses + item.first;
    const Piece piece{addresses,
                      addresses + item.sources,
                      static_cast<int>(item.sources),
                      static_cast<int>(item.destinations),
                      slice.begin,
                      0,
                      whole_block()};
    reduce_slice<Type, Op>(piece, slice.end - slice.begin, item.width,
                           table.averages ? piece.source_count : 1);
  }
}

template <typename Table, typename Type, typename Op>
__global__ void __launch_bounds__(kKernelThreads)
    peer_kernel(const DUET_GPU_PARAMETER Table table) {
  const std::uint64_t call = table.calls[blockIdx.x];
  barrier_before(table, 2 * call + 1);
  move_all(table);
  reduce_all<Type, Op>(table);
  barrier_after(table, 2 * call + 2);
  if (threadIdx.x == 0) table.calls[blockIdx.x] = call + 1;
}

// The kernel for calls without reductions, which needs fewer registers.
template <typename Table>
__global__ void __launch_bounds__(kKernelThreads)
    peer_moves_kernel(const DUET_GPU_PARAMETER Table table) {
  const std::uint64_t call = table.calls[blockIdx.x];
  barrier_before(table, 2 * call + 1);
  move_all(table);
  barrier_after(table, 2 * call + 2);
  if (threadIdx.x == 0) table.calls[blockIdx.x] = call + 1;
}

template <typename Table>
struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = peer_kernel<Table, Type, Op>;
};

template <typename Table>
void launch(const Table& table, DType dtype, Reduction op, int blocks, gpuStream_t stream) {
  const auto kernel =
      table.reduction_count > 0 ? kernel_for<Kernels<Table>>(dtype, op) : peer_moves_kernel<Table>;
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kKernelThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

template <typename Table>
void load() {
  load_kernel(peer_moves_kernel<Table>);
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels<Table>>(dtype, op));
  }
}

}  // namespace

void launch_peer_kernel(const gpu::FewPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream) {
  launch(table, dtype, op, blocks, stream);
}

void launch_peer_kernel(const gpu::ManyPeersTable& table, DType dtype, Reduction op, int blocks,
                        gpuStream_t stream) {
  launch(table, dtype, op, blocks, stream);
}

void load_peer_kernels() {
  load<gpu::FewPeersTable>();
  load<gpu::ManyPeersTable>();
}

}  // namespace duet::DUET_GPU
