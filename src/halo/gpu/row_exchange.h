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

// Behind a block's stores, by one thread: the last block of a boundary row signals its neighbour,
// and the last of all counts the call.
__device__ inline void finish_boundary(const gpu::SweepExchange& e, bool first, bool last,
                                       unsigned columns, std::uint64_t call) {
  unsigned* const of_row = e.finished + (first ? 0 : 1);
  fence_of_system();
  if (atomicAdd(of_row, 1u) + 1 < columns) return;
  *of_row = 0;
  fence_of_system();
  if (first) store_release(e.to_above, call + 1);
  if (last) store_release(e.to_below, call + 1);
  const unsigned rows = first && last ? 1 : 2;
  if (atomicAdd(e.finished + 2, 1u) + 1 < rows) return;
  e.finished[2] = 0;
  *e.calls = call + 1;
  if (!e.closes) return;
  await_word(e.from_above, call + 1);
  await_word(e.from_below, call + 1);
}

// A block's part of a boundary row, of which sweep(first, last) computes and stores the points. The
// first row needs the neighbour above alone, the last row the one below; where they are one row,
// both.
template <typename SweepPart>
__device__ void exchange_part(const gpu::SweepExchange& e, unsigned columns, SweepPart sweep) {
  const bool first = blockIdx.x < columns;
  const bool last = !first || e.rows == 1;
  const std::uint64_t call = *e.calls;
  if (threadIdx.x == 0) {
    if (first) await_word(e.from_above, call);
    if (last) await_word(e.from_below, call);
  }
  __syncthreads();
  sweep(first, last);
  finish_stores();
  __syncthreads();
  if (threadIdx.x == 0) finish_boundary(e, first, last, columns, call);
}

}  // namespace duet::DUET_GPU
