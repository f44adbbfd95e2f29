// Launch functions of the kernels. They do not check their arguments; the caller does.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"
#include "device/stream.h"
#include "halo/gpu/tiles.h"

namespace duet::DUET_GPU {

// The boundary rows and their exchange by the first blocks of a sweep: see ExchangingSweep.
struct SweepExchange {
  std::int64_t rows = 0;
  float *halo_above = nullptr, *halo_below = nullptr;  // at the neighbours, of the field `to`
  const std::uint64_t *from_above = nullptr, *from_below = nullptr;
  std::uint64_t *to_above = nullptr, *to_below = nullptr;
  std::uint64_t* calls = nullptr;  // how often the kernel has run; the kernel counts
  unsigned* finished = nullptr;    // three counters of blocks, 0 between two calls
  bool closes = false;
};

void launch_sweep(const SweepTiles& tiles, Stream& stream);
// `tiles` has the interior alone; its partial sums follow those of the boundary rows.
void launch_exchange(const SweepTiles& tiles, const SweepExchange& exchange, Stream& stream);
void launch_sum(const double* values, std::int64_t count, double* total, Stream& stream);

// Loads the kernels on the current device before anything waits there.
void load_halo_kernels();

}  // namespace duet::DUET_GPU
