// An exchange with peers: one launch that meets them, moves and reduces, and meets them again.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/exchange.h"
#include "device/gpu/exchange_slices.h"
#include "device/gpu/kernel_choice.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/peer_meeting.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kWarp = 32;  // threads that go together; half of them on some devices
constexpr unsigned kWarps = kExchangeThreads / kWarp;
constexpr int kMovesInFlight = 4;  // loads per thread: enough, with 64 blocks, to fill all links

// The moves of a launch go on beside each other, each by its share of the block's warps, so that
// all links are busy from the start and none is everybody's target at the same time.
__device__ void move_all(const gpu::PeerExchangeTable& table) {
  const unsigned moves = static_cast<unsigned>(table.move_count);
  if (moves == 0) return;
  const unsigned crews = moves < kWarps ? moves : kWarps;
  const unsigned warp = threadIdx.x / kWarp, own = warp % crews;
  const unsigned warps = (kWarps - own + crews - 1) / crews;
  const Crew crew{warp / crews * kWarp + threadIdx.x % kWarp, warps * kWarp};
  for (unsigned i = own; i < moves; i += crews) {
    const gpu::PeerMove& move = table.moves[i];
    const ExchangeSlice slice = own_slice(move.bytes, move.share);
    if (slice.begin == slice.end) continue;
    const Piece piece{table.addresses + move.source,
                      table.addresses + move.destination,
                      1,
                      1,
                      slice.begin,
                      0,
                      crew};
    copy_slice<kMovesInFlight>(piece, slice.end - slice.begin, move.width);
  }
}

template <typename Type, typename Op>
__device__ void reduce_all(const gpu::PeerExchangeTable& table) {
  for (int i = 0; i < table.reduction_count; ++i) {
    const gpu::PeerReduction& item = table.reductions[i];
    const ExchangeSlice slice = own_slice(item.bytes, item.share);
    if (slice.begin == slice.end) continue;
    unsigned char* const* const addresses = table.addresses + item.first;
    const Piece piece{
        addresses,    addresses + item.sources, item.sources, item.destinations, slice.begin, 0,
        whole_block()};
    reduce_slice<Type, Op>(piece, slice.end - slice.begin, item.width,
                           table.averages ? piece.source_count : 1);
  }
}

template <typename Type, typename Op>
__global__ void __launch_bounds__(kExchangeThreads)
    peer_exchange_kernel(const DUET_GPU_PARAMETER gpu::PeerExchangeTable table) {
  const std::uint64_t call = table.calls[blockIdx.x];
  meet_to_start(table, 2 * call + 1);
  move_all(table);
  reduce_all<Type, Op>(table);
  meet_to_end(table, 2 * call + 2);
  if (threadIdx.x == 0) table.calls[blockIdx.x] = call + 1;
}

// What only moves: fewer registers.
__global__ void __launch_bounds__(kExchangeThreads)
    peer_moves_kernel(const DUET_GPU_PARAMETER gpu::PeerExchangeTable table) {
  const std::uint64_t call = table.calls[blockIdx.x];
  meet_to_start(table, 2 * call + 1);
  move_all(table);
  meet_to_end(table, 2 * call + 2);
  if (threadIdx.x == 0) table.calls[blockIdx.x] = call + 1;
}

struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = peer_exchange_kernel<Type, Op>;
};

}  // namespace

void launch_peer_exchange(const gpu::PeerExchangeTable& table, DType dtype, Reduction op,
                          int blocks, gpuStream_t stream) {
  const auto kernel =
      table.reduction_count > 0 ? kernel_for<Kernels>(dtype, op) : peer_moves_kernel;
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kExchangeThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(gpuGetLastError());
}

void load_peer_exchange_kernels() {
  load_kernel(peer_moves_kernel);
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels>(dtype, op));
  }
}

}  // namespace duet::DUET_GPU
