// How the blocks of a kernel take turns with copy engines, item by item.
#pragma once

#include <cstdint>

#include "device/gpu/exchange_table.h"
#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// An item's flags, in the table's list of addresses.
__device__ inline std::uint64_t* flag_of(unsigned char* const* flags, unsigned i) {
  return reinterpret_cast<std::uint64_t*>(flags[i]);
}

// Waits until the item may start. `flags` are those that it waits for and then those that it sets.
// One of them may still be 1 for an item before this one that other blocks are not through with.
__device__ inline void take_turn(const gpu::TableItem& item, unsigned char* const* flags,
                                 const std::uint64_t* passed) {
  for (unsigned i = threadIdx.x; i < item.after; i += blockDim.x) {
    while (load_acquire(passed) < item.behind) {
    }
    while (load_acquire(flag_of(flags, i)) == 0) {
    }
  }
  __syncthreads();
}

// The last block to be done with item `index` passes the turn on, for all. Items pass in order,
// since each block does them in order; after the last one nobody waits any more.
__device__ inline void pass_turn(const gpu::ExchangeTable& table, int index,
                                 const gpu::TableItem& item, unsigned char* const* flags) {
  unsigned long long* const finished = table.finished + index;
  finish_stores();
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(finished, 1ULL) + 1 < gridDim.x) return;
  __threadfence();
  *finished = 0;
  for (unsigned i = 0; i < item.after; ++i) *flag_of(flags, i) = 0;
  for (unsigned i = item.after; i < item.after + item.then; ++i) {
    store_release(flag_of(flags, i), 1);
  }
  const int passed = index + 1;
  store_release(table.passed, passed == table.last_turn ? 0 : static_cast<std::uint64_t>(passed));
}

}  // namespace duet::DUET_GPU
