#pragma once

#include <cstdint>

#include "device/gpu/local_kernel_table.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// An item's semaphores in a LocalKernel: those that it waits for, then those that it signals.
struct ItemSemaphores {
  unsigned char* const* words;
  unsigned waits;
  unsigned signals;
  unsigned block;  // index of this block's word in each semaphore

  __device__ std::uint64_t* at(unsigned i) const {
    return reinterpret_cast<std::uint64_t*>(words[i]) + block;
  }
};

__device__ inline ItemSemaphores semaphores_of(const gpu::LocalKernelTable& table,
                                               const gpu::LocalTableItem& item) {
  return {table.addresses + item.first + item.sources + item.destinations, item.waits, item.signals,
          table.semaphores_by_block ? static_cast<unsigned>(blockIdx.x) : 0U};
}

// Waits until item `index` may start. First waits for `behind` earlier items: a semaphore may still
// be 1 for an earlier item that other blocks have not finished. A semaphore in the CPU's memory is
// read over the bus by which copy engines fetch their work, which every block that polls delays: so
// the first block tells the others by a word in the GPU's memory.
__device__ inline void wait_for_item(const gpu::LocalKernelTable& table, int index,
                                     const gpu::LocalTableItem& item,
                                     const ItemSemaphores& semaphores) {
  const std::uint64_t next = static_cast<std::uint64_t>(index) + 1;
  const bool is_told = item.first_block_polls != 0 && blockIdx.x > 0;
  while (is_told && threadIdx.x == 0 && load_acquire(table.started) < next) {
  }
  for (unsigned i = threadIdx.x; !is_told && i < semaphores.waits; i += blockDim.x) {
    while (item.behind > 0 && load_acquire(table.passed) < item.behind) {
    }
    while (load_acquire(semaphores.at(i)) == 0) {
    }
  }
  __syncthreads();
  if (item.first_block_polls != 0 && blockIdx.x == 0 && threadIdx.x == 0) {
    store_release(table.started, next);
  }
}

__device__ inline void reset_and_signal(const ItemSemaphores& semaphores) {
  for (unsigned i = 0; i < semaphores.waits; ++i) *semaphores.at(i) = 0;
  for (unsigned i = semaphores.waits; i < semaphores.waits + semaphores.signals; ++i)
    store_release(semaphores.at(i), 1);
}

// The last block that finishes item `index` resets and signals the semaphores for all blocks. Each
// block runs the items in order, so items finish in order. After the last item with semaphores no
// block waits any more, and `passed` and `started` return to 0 for the next launch.
__device__ inline void signal_item_of_all_blocks(const gpu::LocalKernelTable& table, int index,
                                                 const ItemSemaphores& semaphores) {
  unsigned long long* const finished = table.finished + index;
  fence_of_device();
  if (atomicAdd(finished, 1ULL) + 1 < gridDim.x) return;
  fence_of_device();
  *finished = 0;
  reset_and_signal(semaphores);
  const int passed = index + 1;
  if (passed == table.ordered_items) *table.started = 0;
  store_release(table.passed,
                passed == table.ordered_items ? 0 : static_cast<std::uint64_t>(passed));
}

__device__ inline void signal_item(const gpu::LocalKernelTable& table, int index,
                                   const ItemSemaphores& semaphores) {
  finish_stores();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (table.semaphores_by_block) {
      reset_and_signal(semaphores);
    } else {
      signal_item_of_all_blocks(table, index, semaphores);
    }
  }
  __syncthreads();  // another thread may wait for the same semaphore next
}

}  // namespace duet::DUET_GPU
