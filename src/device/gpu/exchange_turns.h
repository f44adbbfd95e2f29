// How the blocks of a kernel take turns with copy engines or with blocks of other devices, item by
// item.
#pragma once

#include <cstdint>

#include "device/gpu/exchange_table.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// An item's semaphores: those that it waits for and then those that it sets.
struct ItemSemaphores {
  unsigned char* const* words;
  unsigned after;
  unsigned then;
  unsigned block;  // of each semaphore's words, this block's

  __device__ std::uint64_t* at(unsigned i) const {
    return reinterpret_cast<std::uint64_t*>(words[i]) + block;
  }
};

__device__ inline ItemSemaphores semaphores_of(const gpu::ExchangeTable& table,
                                               const gpu::TableItem& item) {
  return {table.addresses + item.first + item.sources + item.destinations, item.after, item.then,
          table.semaphores_by_block ? static_cast<unsigned>(blockIdx.x) : 0U};
}

// Waits until the item may start. One of its semaphores may still be 1 for an item before it that
// other blocks are not through with.
__device__ inline void take_turn(const gpu::ExchangeTable& table, const gpu::TableItem& item,
                                 const ItemSemaphores& semaphores) {
  for (unsigned i = threadIdx.x; i < semaphores.after; i += blockDim.x) {
    while (item.behind > 0 && load_acquire(table.passed) < item.behind) {
    }
    while (load_acquire(semaphores.at(i)) == 0) {
    }
  }
  __syncthreads();
}

__device__ inline void turn(const ItemSemaphores& semaphores) {
  for (unsigned i = 0; i < semaphores.after; ++i) *semaphores.at(i) = 0;
  for (unsigned i = semaphores.after; i < semaphores.after + semaphores.then; ++i)
    store_release(semaphores.at(i), 1);
}

// The last block to be done with item `index` passes the turn on, for all. Items pass in order,
// since each block does them in order; after the last one nobody waits any more.
__device__ inline void pass_turn_of_all(const gpu::ExchangeTable& table, int index,
                                        const ItemSemaphores& semaphores) {
  unsigned long long* const finished = table.finished + index;
  __threadfence();
  if (atomicAdd(finished, 1ULL) + 1 < gridDim.x) return;
  __threadfence();
  *finished = 0;
  turn(semaphores);
  const int passed = index + 1;
  store_release(table.passed, passed == table.last_turn ? 0 : static_cast<std::uint64_t>(passed));
}

__device__ inline void pass_turn(const gpu::ExchangeTable& table, int index,
                                 const ItemSemaphores& semaphores) {
  finish_stores();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (table.semaphores_by_block) {
      turn(semaphores);
    } else {
      pass_turn_of_all(table, index, semaphores);
    }
  }
  __syncthreads();  // another thread may wait for the same word next
}

}  // namespace duet::DUET_GPU
