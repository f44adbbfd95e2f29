// An exchange without peers: each block its slice of every item, one item after the other.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/exchange.h"
#include "device/gpu/exchange_slices.h"
#include "device/gpu/exchange_turns.h"
#include "device/gpu/kernel_choice.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"

namespace duet::DUET_GPU {
namespace {

// This block's slice of an item.
template <typename Type, typename Op>
__device__ void handle(const gpu::TableItem& item, unsigned char* const* addresses, bool averages) {
  const ExchangeSlice slice = own_slice(item.bytes, item.share);
  if (slice.begin == slice.end) return;
  const Piece piece{addresses,
                    addresses + item.sources,
                    static_cast<int>(item.sources),
                    static_cast<int>(item.destinations),
                    slice.begin,
                    0,
                    whole_block()};
  if (item.sources == 1) {
    copy_slice<kInFlight>(piece, slice.end - slice.begin, item.width);
  } else {
    reduce_slice<Type, Op>(piece, slice.end - slice.begin, item.width,
                           averages ? piece.source_count : 1);
  }
}

template <typename Type, typename Op>
__global__ void __launch_bounds__(kExchangeThreads) exchange_kernel(gpu::ExchangeTable table) {
  for (int i = 0; i < table.item_count; ++i) {
    const gpu::TableItem item = table.items[i];
    const ItemSemaphores semaphores = semaphores_of(table, item);
    const bool has_semaphores = semaphores.after + semaphores.then > 0;
    if (has_semaphores) take_turn(table, item, semaphores);
    handle<Type, Op>(item, table.addresses + item.first, table.averages);
    if (has_semaphores) pass_turn(table, i, semaphores);
  }
}

struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = exchange_kernel<Type, Op>;
};

}  // namespace

void launch_exchange(const gpu::ExchangeTable& table, DType dtype, Reduction op, int blocks,
                     gpuStream_t stream) {
  const auto kernel = kernel_for<Kernels>(dtype, op);
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kExchangeThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(gpuGetLastError());
}

void load_exchange_kernels() {
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels>(dtype, op));
  }
}

}  // namespace duet::DUET_GPU
