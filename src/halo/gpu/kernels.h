// Launch functions of the kernels. They do not check their arguments; the caller does.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"
#include "device/stream.h"

namespace duet::DUET_GPU {

inline constexpr unsigned kSweepThreads = 256;  // of a block

// Rows of up to two parts of a field, divided into tiles: `tile_rows` rows of the columns of a
// block. Block b computes tile b, by columns and then by rows: tiles that share rows run at about
// the same time, so that rows at their edges come from the cache.
struct SweepTiles {
  const float* from = nullptr;
  float* to = nullptr;
  double* partials = nullptr;  // one for each block; nullptr: no norm
  std::int64_t nx = 0;
  std::int64_t begin[2] = {}, end[2] = {};  // rows of both parts
  int tile_rows = 0;
  unsigned tiles_of_first = 0;  // tiles below each other of the first part; set_tile_rows() sets it
};

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

// Points of a row that a thread handles: 4, or 1 where rows do not begin at multiples of 16 bytes.
int points_of_thread(std::int64_t nx);
// Blocks beside each other that a row takes.
std::int64_t column_blocks(std::int64_t nx);
// Divides the parts, which are set, into tiles of so many rows.
void set_tile_rows(SweepTiles& tiles, int rows);
// Blocks of a sweep, without the boundary rows of an exchange, which take column_blocks() each.
std::int64_t tile_count(const SweepTiles& tiles);

void launch_sweep(const SweepTiles& tiles, Stream& stream);
// `tiles` has the interior alone; its partial sums follow those of the boundary rows.
void launch_exchange(const SweepTiles& tiles, const SweepExchange& exchange, Stream& stream);
void launch_sum(const double* values, std::int64_t count, double* total, Stream& stream);

// Loads the kernels on the current device before anything waits there.
void load_halo_kernels();

}  // namespace duet::DUET_GPU
