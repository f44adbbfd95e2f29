// How blocks of kernels on several devices meet: each writes a word at every peer and waits for the
// words that the peers write here. And how the blocks of one kernel take turns with copy engines.
#pragma once

#include <cstdint>

#include "device/gpu/exchange_table.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

#ifdef DUET_GPU_HIP
__device__ inline void store_release(std::uint64_t* word, std::uint64_t value) {
  __hip_atomic_store(word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline std::uint64_t load_acquire(const std::uint64_t* word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
// A barrier within a block does not wait for stores on their way to memory, and a release waits for
// those of its own wave only: each thread sees to its own.
__device__ inline void finish_stores() { __threadfence_system(); }
#else
__device__ inline void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
// A release covers what the barrier has ordered before it, of all threads.
__device__ inline void finish_stores() {}
#endif

// A thread a peer. All threads of the block call; kMostPeers is less than they are.
__device__ inline void meet(const gpu::ExchangeTable& table, std::uint64_t value) {
  finish_stores();
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < table.peers) store_release(table.arrivals[peer] + blockIdx.x, value);
  if (peer < table.peers) {
    const std::uint64_t* const word = table.awaits[peer] + blockIdx.x;
    while (load_acquire(word) < value) {
    }
  }
  __syncthreads();
}

// An item's flags, in the table's list of addresses.
__device__ inline std::uint64_t* flag_of(unsigned char* const* flags, unsigned i) {
  return reinterpret_cast<std::uint64_t*>(flags[i]);
}

// Waits until the item may start. `flags` are those that it waits for and then those that it sets.
__device__ inline void take_turn(const gpu::TableItem& item, unsigned char* const* flags) {
  for (unsigned i = threadIdx.x; i < item.after; i += blockDim.x) {
    while (load_acquire(flag_of(flags, i)) == 0) {
    }
  }
  __syncthreads();
}

// The last block to be done passes the turn on, for all.
__device__ inline void pass_turn(const gpu::TableItem& item, unsigned char* const* flags,
                                 unsigned long long* finished) {
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
}

}  // namespace duet::DUET_GPU
