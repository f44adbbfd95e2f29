// How a sweep is divided into tiles, without the device interface: for kernels.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"

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

// Points of a row that a thread handles: 4, or 1 where rows do not begin at multiples of 16 bytes.
int points_of_thread(std::int64_t nx);
// Blocks beside each other that a row takes.
std::int64_t column_blocks(std::int64_t nx);
// Blocks of the first and the last of so many rows; one row is both.
std::int64_t boundary_blocks(std::int64_t rows, std::int64_t nx);
// Divides the parts, which are set, into tiles of so many rows.
void set_tile_rows(SweepTiles& tiles, int rows);
// Blocks of a sweep, without the boundary rows of an exchange, which take column_blocks() each.
std::int64_t tile_count(const SweepTiles& tiles);

}  // namespace duet::DUET_GPU
