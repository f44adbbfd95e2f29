#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "device/sim/sim.h"

namespace duet::sim {
namespace {

// How a library divides a GEMM among workgroups.
struct Division {
  GemmTile tile;
  int splits = 1;  // of K
};

double tiles_of(const GemmSize& size, const GemmTile& tile) {
  return std::ceil(size.m / tile.m) * std::ceil(size.n / tile.n);
}

// Memory traffic over that of reading A and B and writing C once: the model's, and at most that of
// workgroups that each read their rows and columns from memory.
double traffic(const GemmModel& gemm, const GemmSize& size, const GemmTile& tile) {
  if (size.traffic > 0) return size.traffic;
  const double output = size.m * size.n;
  const double rows = std::min<double>(tile.m, size.m);
  const double columns = std::min<double>(tile.n, size.n);
  const double unshared = tiles_of(size, tile) * (rows + columns) * size.k + output;
  const double once = (size.m + size.n) * size.k + output;
  return std::min(gemm.traffic, std::max(1.0, unshared / once));
}

// A workgroup computes a whole tile, also where the matrix ends inside the tile, and fills and
// drains its pipeline once. Both lower the efficiency. Sums of a split K are written and read in
// fp32.
Demand demand_of(const DeviceModel& model, const GemmSize& size, const Division& division) {
  const double peak = model.peak.at(size.dtype), splits = division.splits;
  Demand demand;
  demand.flop = 2 * size.m * size.n * size.k;
  demand.dtype = size.dtype;
  demand.memory_bytes = size.memory_bytes * traffic(model.gemm, size, division.tile);
  if (division.splits > 1) demand.memory_bytes += 2 * sizeof(float) * splits * size.m * size.n;
  demand.workgroups = tiles_of(size, division.tile) * splits;
  if (demand.flop <= 0) return demand;
  const double unit_rate = peak / model.compute_units;
  const double tile_flop = 2.0 * division.tile.m * division.tile.n * size.k / splits;
  const double rate = unit_rate * model.gemm.efficiency.at(size.dtype) * division.tile.efficiency;
  demand.efficiency = demand.flop / demand.workgroups / unit_rate /
                      (tile_flop / rate + model.gemm.workgroup_seconds);
  return demand;
}

// Of a GEMM alone on the device, at its usual clock.
double seconds_of(const DeviceModel& model, const Demand& demand) {
  const double waves = std::ceil(demand.workgroups / model.compute_units);
  const double unit_rate = model.peak.at(demand.dtype) / model.compute_units;
  const double computing =
      waves * demand.flop / demand.workgroups / (unit_rate * demand.efficiency);
  return std::max(computing, demand.memory_bytes / (model.memory_rate * model.memory_efficiency));
}

}  // namespace

// By the fastest division. The usual one comes first, and stays where none is faster.
Demand gemm_demand(const DeviceModel& model, const GemmSize& size) {
  if (model.peak.count(size.dtype) == 0) {
    throw Unavailable(fmt::format("{} has no rate for {}", model.model, name(size.dtype)));
  }
  const GemmModel& gemm = model.gemm;
  std::vector<GemmTile> tiles{{gemm.tile_m, gemm.tile_n, 1}};
  tiles.insert(tiles.end(), gemm.other_tiles.begin(), gemm.other_tiles.end());
  Demand best = demand_of(model, size, {tiles.front(), 1});
  if (best.flop <= 0) return best;
  for (const GemmTile& tile : tiles) {
    for (int splits = 1; splits <= gemm.most_splits; splits *= 2) {
      const Demand other = demand_of(model, size, {tile, splits});
      if (seconds_of(model, other) < seconds_of(model, best)) best = other;
    }
  }
  return best;
}

}  // namespace duet::sim
