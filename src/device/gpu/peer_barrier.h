// A barrier between the blocks with the same index of kernels on several devices. Each block writes
// a word at every peer and waits for the words that the peers write here.
#pragma once

#include <cstdint>

#include "device/gpu/system_words.h"

namespace duet::DUET_GPU {

// One thread waits for each peer; there are at most kKernelThreads peers.
template <typename Table>
__device__ void wait_for_peers(const Table& table, std::uint64_t value) {
  if (static_cast<int>(threadIdx.x) < table.peers) {
    const std::uint64_t* const word = table.awaits[threadIdx.x] + blockIdx.x;
    while (load_acquire(word) < value) {
    }
  }
  __syncthreads();
}

// The barrier before the items. All threads of the block call it.
// On NVIDIA the words are written without release order. The results of earlier work of the stream
// are in memory when the kernel starts, so there is nothing to release. A release would cost 0.7
// us, and 1.6 us with 64 blocks.
template <typename Table>
__device__ void barrier_before(const Table& table, std::uint64_t value) {
  if (!table.opens) return;
  if (static_cast<int>(threadIdx.x) < table.peers) {
    std::uint64_t* const word = table.arrivals[threadIdx.x] + blockIdx.x;
#ifdef DUET_GPU_HIP
    store_release(word, value);
#else
    store_relaxed(word, value);
#endif
  }
  wait_for_peers(table, value);
}

// The barrier after the items. All threads of the block call it. A kernel that only reads from
// peers needs no release either: its loads have completed, because it has used the loaded values.
template <typename Table>
__device__ void barrier_after(const Table& table, std::uint64_t value) {
  if (!table.closes) return;
  if (table.writes_out) finish_stores();
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < table.peers) {
    std::uint64_t* const word = table.arrivals[threadIdx.x] + blockIdx.x;
    if (table.writes_out) {
      store_release(word, value);
    } else {
      store_relaxed(word, value);
    }
  }
  wait_for_peers(table, value);
}

}  // namespace duet::DUET_GPU
