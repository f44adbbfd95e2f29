// LocalKernel: each block processes its slice of every item, one item after the other.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/item_slices.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/ordered_items.h"
#include "device/gpu/reduction_words.h"

namespace duet::DUET_GPU {
namespace {

// Processes this block's slice of an item.
template <typename Type, typename Op>
__device__ void handle(const gpu::LocalTableItem& item, unsigned char* const* addresses,
                       bool averages) {
  const BlockSlice slice = own_slice(item.bytes, item.share);
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
                           averages ? static_cast<int>(item.divisor) : 1);
  }
}

template <typename Type, typename Op>
__global__ void __launch_bounds__(kKernelThreads) local_kernel(gpu::LocalKernelTable table) {
  for (int i = 0; i < table.item_count; ++i) {
    const gpu::LocalTableItem item = table.items[i];
    const ItemSemaphores semaphores = semaphores_of(table, item);
    const bool has_semaphores = semaphores.waits + semaphores.signals > 0;
    if (has_semaphores) wait_for_item(table, i, item, semaphores);
    handle<Type, Op>(item, table.addresses + item.first, table.averages);
    if (has_semaphores) signal_item(table, i, semaphores);
  }
}

struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = local_kernel<Type, Op>;
};

}  // namespace

void launch_local_kernel(const gpu::LocalKernelTable& table, DType dtype, Reduction op, int blocks,
                         gpuStream_t stream) {
  const auto kernel = kernel_for<Kernels>(dtype, op);
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kKernelThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void load_local_kernels() {
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels>(dtype, op));
  }
}

}  // namespace duet::DUET_GPU
