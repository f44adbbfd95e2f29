#pragma once

#include <cstdint>

#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

// How a block sends its piece of a boundary row: each thread its points, by puts of 4 bytes; the
// block the piece, by one put; or that with a signal, which arrives after it.
enum class Put { words, blocks, signals };

// Addresses that belong to a neighbour are symmetric: this PE's own at the same place of the heap.
struct SweepCall {
  Put put = Put::words;
  const float* from = nullptr;  // fields, as FieldShape says
  float* to = nullptr;
  double* partials = nullptr;  // nullptr: no norm
  std::int64_t nx = 0, rows = 0;
  bool boundary = true, interior = true;                       // which rows are swept
  int pe = 0, above = 0, below = 0;                            // this PE and its neighbours
  float *halo_above = nullptr, *halo_below = nullptr;          // the neighbours' halo rows of `to`
  std::uint64_t *word_above = nullptr, *word_below = nullptr;  // their words, for signals
};

// The end of an exchange. Calls are counted in `calls`, on the device. Without signals of the puts,
// completes them and writes the count to the neighbours' words; then waits until both own words are
// at least the count, times the signals that a row's puts make.
struct SyncCall {
  Put put = Put::words;
  std::int64_t nx = 0;
  int pe = 0, above = 0, below = 0;
  const std::uint64_t *from_above = nullptr, *from_below = nullptr;
  std::uint64_t *word_above = nullptr, *word_below = nullptr;
  std::uint64_t* calls = nullptr;
};

// What the halo exchange has of NVSHMEM besides.
struct HaloCalls : Calls {
  // The number of partial sums of a sweep.
  std::int64_t (*partials)(const SweepCall& sweep) = nullptr;
  // Enqueue on a native stream of the current device.
  int (*sweep)(const SweepCall& sweep, void* stream) = nullptr;
  int (*sync)(const SyncCall& sync, void* stream) = nullptr;
};

// NVSHMEM itself (kernels.cu).
const HaloCalls& library_halo_calls();

}  // namespace duet::nvshmem
