// Sweeps of a grid. A block computes a tile of 1,024 columns and some rows. Each thread handles
// four columns and goes down the rows: a row is loaded once, and is the row below, the own row and
// the row above in turn, in registers. Values at both sides come from the neighbouring threads, and
// only the first and the last thread of a warp load one.
#pragma once

#include <cstdint>

#include "halo/gpu/points.h"
#include "halo/gpu/tiles.h"

namespace duet::DUET_GPU {

// The value beside a warp's first or last point, for the thread that has that point.
template <int width>
__device__ float beside_warp(const float* row, std::int64_t x, std::int64_t nx) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t at = lane == 0 ? x - 1 : x + width;
  const bool needed = (lane == 0 || lane == 31) && at >= 0 && at < nx;
  return needed ? row[at] : 0;  // one load under a predicate, no branch
}

// The new values of a thread's points. All threads of a warp call it.
template <int width>
__device__ Points<width> jacobi_points(const Points<width>& above, const Points<width>& own,
                                       const Points<width>& below, float beside, std::int64_t x,
                                       std::int64_t nx) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float left = from_left(own.at[width - 1]), right = from_right(own.at[0]);
  if (lane == 0) left = beside;
  if (lane == 31) right = beside;
  Points<width> made;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const float before = i == 0 ? left : own.at[i > 0 ? i - 1 : 0];
    const float behind = i == width - 1 ? right : own.at[i < width - 1 ? i + 1 : i];
    const float value = 0.25f * (((before + behind) + above.at[i]) + below.at[i]);
    const bool fixed = x + i == 0 || x + i == nx - 1;
    made.at[i] = fixed ? own.at[i] : value;
  }
  return made;
}

template <int width>
__device__ double change_of(const Points<width>& before, const Points<width>& after) {
  double sum = 0;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const double change = static_cast<double>(after.at[i] - before.at[i]);
    sum += change * change;
  }
  return sum;
}

// What a thread loads to compute `count` rows: the row below each, and of a warp's first and last
// thread the value beside.
template <int width, int count>
struct RowsBelow {
  Points<width> below[count];
  float beside[count];
};

// The loads for the rows from `first` on, which end before `end`. Waits for none.
template <int width, int count>
__device__ void load_below(RowsBelow<width, count>& rows, const SweepTiles& tiles,
                           std::int64_t first, std::int64_t end, std::int64_t x) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const float* row = tiles.from + (first + i) * tiles.nx;
    const bool exists = first + i < end && x < tiles.nx;
    rows.below[i] = exists ? load_points<width>(row + tiles.nx + x) : Points<width>{};
    rows.beside[i] = exists ? beside_warp<width>(row, x, tiles.nx) : 0;
  }
}

// The rows [begin, end) of a thread's points from column x on, given to store(row, points). All
// threads of a block call it, also those beyond the last column. While a thread computes
// `in_flight` rows, the loads for as many that follow are under way: two sets of registers take
// turns. Returns the sum of the thread's changes.
template <int width, bool norm, int in_flight, typename Store>
__device__ double sweep_rows(const SweepTiles& tiles, std::int64_t begin, std::int64_t end,
                             std::int64_t x, Store store) {
  const std::int64_t nx = tiles.nx;
  const bool inside = x < nx;
  Points<width> above{}, own{};
  if (inside) {
    above = load_points<width>(tiles.from + (begin - 1) * nx + x);
    own = load_points<width>(tiles.from + begin * nx + x);
  }
  double sum = 0;
  const auto compute = [&](const RowsBelow<width, in_flight>& rows, std::int64_t first) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (first + i >= end) break;  // for all threads alike
      const Points<width> made =
          jacobi_points<width>(above, own, rows.below[i], rows.beside[i], x, nx);
      if (inside) store(first + i, made);
      if (norm && inside) sum += change_of<width>(own, made);
      above = own;
      own = rows.below[i];
    }
  };
  RowsBelow<width, in_flight> rows, next;
  load_below(rows, tiles, begin, end, x);
  for (std::int64_t first = begin; first < end; first += 2 * in_flight) {
    load_below(next, tiles, first + in_flight, end, x);
    compute(rows, first);
    load_below(rows, tiles, first + 2 * in_flight, end, x);
    compute(next, first + in_flight);
  }
  return sum;
}

// The first column of a thread.
template <int width>
__device__ std::int64_t column_of(unsigned block, unsigned columns) {
  return (static_cast<std::int64_t>(block % columns) * blockDim.x + threadIdx.x) * width;
}

// Block `block` of a sweep. Returns the sum of the thread's changes.
template <int width, bool norm, int in_flight>
__device__ double sweep_tile(const SweepTiles& tiles, unsigned columns, unsigned block) {
  const unsigned row_of_tiles = block / columns;
  const int part = row_of_tiles < tiles.tiles_of_first ? 0 : 1;
  const std::int64_t tile = row_of_tiles - (part == 0 ? 0 : tiles.tiles_of_first);
  const std::int64_t begin = (part == 0 ? tiles.begin[0] : tiles.begin[1]) + tile * tiles.tile_rows;
  const std::int64_t last = begin + tiles.tile_rows;
  const std::int64_t end_of_part = part == 0 ? tiles.end[0] : tiles.end[1];
  const std::int64_t end = last < end_of_part ? last : end_of_part;
  const std::int64_t x = column_of<width>(block, columns);
  const auto store = [&](std::int64_t row, const Points<width>& points) {
    stream_points<width>(tiles.to + row * tiles.nx + x, points);
  };
  return sweep_rows<width, norm, in_flight>(tiles, begin, end, x, store);
}

}  // namespace duet::DUET_GPU
