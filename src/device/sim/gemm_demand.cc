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
// drains its pipeline once. Both lower the efficiency.
void set_efficiency(const DeviceModel& model, double k, const Division& division, Demand& demand) {
  if (demand.flop <= 0) return;
  const double unit_rate = model.peak.at(demand.dtype) / model.compute_units;
  const double tile_flop = 2.0 * division.tile.m * division.tile.n * k / division.splits;
  const double rate = unit_rate * model.gemm.efficiency.at(demand.dtype) * division.tile.efficiency;
  demand.efficiency = demand.flop / demand.workgroups / unit_rate /
                      (tile_flop / rate + model.gemm.workgroup_seconds);
}

// Sums of a split K are written and read in fp32.
Demand demand_of(const DeviceModel& model, const GemmSize& size, const Division& division) {
  const double splits = division.splits;
  Demand demand;
  demand.flop = 2 * size.m * size.n * size.k;
  demand.dtype = size.dtype;
  demand.memory_bytes = size.memory_bytes * traffic(model.gemm, size, division.tile);
  if (division.splits > 1) demand.memory_bytes += 2 * sizeof(float) * splits * size.m * size.n;
  demand.workgroups = tiles_of(size, division.tile) * splits;
  set_efficiency(model, size.k, division, demand);
  return demand;
}

// Of all products together.
Demand demand_of(const DeviceModel& model, const std::vector<GemmSize>& products,
                 const Division& division) {
  Demand all;
  all.dtype = products.front().dtype;
  for (const GemmSize& size : products) {
    const Demand one = demand_of(model, size, division);
    all.flop += one.flop;
    all.memory_bytes += one.memory_bytes;
    all.workgroups += one.workgroups;
  }
  set_efficiency(model, products.front().k, division, all);
  return all;
}

// Of a GEMM alone on the device, at its usual clock.
double seconds_of(const DeviceModel& model, const Demand& demand) {
  const double waves = std::ceil(demand.workgroups / model.compute_units);
  const double unit_rate = model.peak.at(demand.dtype) / model.compute_units;
  const double computing =
      waves * demand.flop / demand.workgroups / (unit_rate * demand.efficiency);
  return std::max(computing, demand.memory_bytes / (model.memory_rate * model.memory_efficiency));
}

std::vector<GemmTile> tiles_of(const DeviceModel& model, DType dtype) {
  if (model.peak.count(dtype) == 0) {
    throw Unavailable(fmt::format("{} has no rate for {}", model.model, name(dtype)));
  }
  std::vector<GemmTile> tiles{{model.gemm.tile_m, model.gemm.tile_n, 1}};
  tiles.insert(tiles.end(), model.gemm.other_tiles.begin(), model.gemm.other_tiles.end());
  return tiles;
}

// By the fastest division of at most `most_splits`. The usual one comes first, and stays where none
// is faster. `Size`: one product or several.
template <typename Size>
Demand fastest(const DeviceModel& model, const Size& size, DType dtype, int most_splits) {
  const std::vector<GemmTile> tiles = tiles_of(model, dtype);
  Demand best = demand_of(model, size, {tiles.front(), 1});
  if (best.flop <= 0) return best;
  for (const GemmTile& tile : tiles) {
    for (int splits = 1; splits <= most_splits; splits *= 2) {
      const Demand other = demand_of(model, size, {tile, splits});
      if (seconds_of(model, other) < seconds_of(model, best)) best = other;
    }
  }
  return best;
}

}  // namespace

Demand gemm_demand(const DeviceModel& model, const GemmSize& size) {
  return fastest(model, size, size.dtype, model.gemm.most_splits);
}

Demand grouped_gemm_demand(const DeviceModel& model, const std::vector<GemmSize>& products) {
  return fastest(model, products, products.front().dtype, 1);
}

}  // namespace duet::sim
