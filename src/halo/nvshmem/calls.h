// The part of NVSHMEM that Duet uses, as a flat table of functions. So one file alone (kernels.cu)
// meets NVSHMEM's headers, and tests have an implementation over host memory (fake.h). Functions
// that return int return 0, or else error() has the reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace duet::nvshmem {

inline constexpr std::size_t kIdBytes = 128;

// How a block sends its piece of a boundary row: each thread its points, by puts of 4 bytes; the
// block the piece, by one put; or that with a signal, which arrives behind it.
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

struct Calls {
  const char* (*error)() = nullptr;
  // Of one PE, which all others then get: kIdBytes bytes.
  int (*unique_id)(void* id) = nullptr;
  // Collective, on the thread whose device is current. A process may call it again for as many PEs.
  int (*init)(const void* id, int pe, int pes) = nullptr;
  // Collective: as many bytes on every PE, aligned to 256; nullptr: there is no room.
  void* (*allocate)(int pe, std::size_t bytes) = nullptr;
  void (*release)(int pe, void* memory) = nullptr;  // collective
  // The number of partial sums of a sweep.
  std::int64_t (*partials)(const SweepCall& sweep) = nullptr;
  // Enqueue on a native stream of the current device.
  int (*sweep)(const SweepCall& sweep, void* stream) = nullptr;
  int (*sync)(const SyncCall& sync, void* stream) = nullptr;
  bool several_pes_a_process = false;  // of the fake
};

}  // namespace duet::nvshmem
