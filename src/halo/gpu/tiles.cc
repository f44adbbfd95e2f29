#include "halo/gpu/tiles.h"

namespace duet::DUET_GPU {

int points_of_thread(std::int64_t nx) { return nx % 4 == 0 ? 4 : 1; }

std::int64_t column_blocks(std::int64_t nx) {
  const std::int64_t of_block = static_cast<std::int64_t>(kSweepThreads) * points_of_thread(nx);
  return (nx + of_block - 1) / of_block;
}

std::int64_t boundary_blocks(std::int64_t rows, std::int64_t nx) {
  return (rows == 1 ? 1 : 2) * column_blocks(nx);
}

void set_tile_rows(SweepTiles& tiles, int rows) {
  tiles.tile_rows = rows;
  tiles.tiles_of_first = static_cast<unsigned>((tiles.end[0] - tiles.begin[0] + rows - 1) / rows);
}

std::int64_t tile_count(const SweepTiles& tiles) {
  const std::int64_t second =
      (tiles.end[1] - tiles.begin[1] + tiles.tile_rows - 1) / tiles.tile_rows;
  return (tiles.tiles_of_first + second) * column_blocks(tiles.nx);
}

}  // namespace duet::DUET_GPU
