// The waits and signals of a sweep that exchanges its boundary rows: for its kernel, and for a test
// on the CPU that runs blocks and ranks as threads.
#pragma once

#include <cstdint>

#include "device/gpu/system_words.h"
#include "halo/gpu/sweep_exchange.h"

namespace duet::DUET_GPU {

// Returns when the word is at least `value`. If a neighbour is gone, the largest signed number is
// written to it.
__device__ inline void await_word(const std::uint64_t* word, std::uint64_t value) {
  while (load_acquire(word) < value) {
  }
}

__device__ inline bool by_copies(const gpu::SweepExchange& e) { return e.halo_above == nullptr; }

// The value that a call waits for before the boundary rows.
__device__ inline std::uint64_t value_awaited(const gpu::SweepExchange& e) {
  if (by_copies(e)) return e.opens ? 0 : 1;
  return *e.calls;
}

// Behind a block's stores, by one thread: the last block of a boundary row signals, and the last of
// all counts the call. Semaphores are set back before the signal that lets the neighbour signal
// them again.
__device__ inline void finish_boundary(const gpu::SweepExchange& e, bool first, bool last,
                                       unsigned columns, std::uint64_t awaited) {
  unsigned* const of_row = e.finished + (first ? 0 : 1);
  fence_of_system();
  if (atomicAdd(of_row, 1u) + 1 < columns) return;
  *of_row = 0;
  if (by_copies(e) && first) *e.from_above = 0;
  if (by_copies(e) && last) *e.from_below = 0;
  fence_of_system();
  const std::uint64_t signalled = by_copies(e) ? 1 : awaited + 1;
  if (first) store_release(e.to_above, signalled);
  if (last) store_release(e.to_below, signalled);
  const unsigned rows = first && last ? 1 : 2;
  if (atomicAdd(e.finished + 2, 1u) + 1 < rows) return;
  e.finished[2] = 0;
  *e.calls += 1;
  if (!e.closes) return;
  await_word(e.from_above, signalled);
  await_word(e.from_below, signalled);
}

// A block's part of a boundary row, of which sweep(first, last) computes and stores the points. The
// first row needs the neighbour above alone, the last row the one below; where they are one row,
// both. `block`: among those that sweep.
template <typename SweepPart>
__device__ void exchange_part(const gpu::SweepExchange& e, unsigned columns, unsigned block,
                              SweepPart sweep) {
  const bool first = block < columns;
  const bool last = !first || e.rows == 1;
  const std::uint64_t awaited = value_awaited(e);
  if (threadIdx.x == 0) {
    if (first) await_word(e.from_above, awaited);
    if (last) await_word(e.from_below, awaited);
  }
  __syncthreads();
  sweep(first, last);
  finish_stores();
  __syncthreads();
  if (threadIdx.x == 0) finish_boundary(e, first, last, columns, awaited);
}

}  // namespace duet::DUET_GPU
