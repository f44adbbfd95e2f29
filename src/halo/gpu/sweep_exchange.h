#pragma once

#include <cstdint>

namespace duet::gpu {

// The boundary rows and their exchange by the first blocks of a sweep: see ExchangingSweep.
struct SweepExchange {
  std::int64_t rows = 0;
  float *halo_above = nullptr, *halo_below = nullptr;  // at the neighbours; nullptr: by copies
  std::uint64_t *from_above = nullptr, *from_below = nullptr;  // of the field read
  std::uint64_t *to_above = nullptr, *to_below = nullptr;      // of the field written
  std::uint64_t* calls = nullptr;  // how often the kernel has run; the kernel counts
  unsigned* finished = nullptr;    // three counters of blocks, 0 between two calls
  bool opens = false;              // by copies
  bool closes = false;             // by stores
};

}  // namespace duet::gpu
