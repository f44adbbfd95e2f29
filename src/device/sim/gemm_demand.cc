#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "device/sim/sim.h"

namespace duet::sim {
namespace {

// Memory traffic over that of reading A and B and writing C once. A shape without a figure of its
// own has at most the traffic of workgroups that each read their rows and columns from memory.
double traffic(const GemmModel& gemm, const GemmSize& size, double tiles) {
  const auto known =
      gemm.shape_traffic.find(fmt::format("{:.0f}x{:.0f}x{:.0f}", size.m, size.n, size.k));
  if (known != gemm.shape_traffic.end()) return known->second;
  const double output = size.m * size.n;
  const double rows = std::min<double>(gemm.tile_m, size.m);
  const double columns = std::min<double>(gemm.tile_n, size.n);
  const double unshared = tiles * (rows + columns) * size.k + output;
  const double once = (size.m + size.n) * size.k + output;
  return std::min(gemm.traffic, std::max(1.0, unshared / once));
}

}  // namespace

// A workgroup computes a whole tile, also where the matrix ends inside the tile, and fills and
// drains its pipeline once. Both lower the efficiency.
Demand gemm_demand(const DeviceModel& model, const GemmSize& size) {
  const auto peak = model.peak.find(size.dtype);
  if (peak == model.peak.end()) {
    throw Unavailable(fmt::format("{} has no rate for {}", model.model, name(size.dtype)));
  }
  const double tiles =
      std::ceil(size.m / model.gemm.tile_m) * std::ceil(size.n / model.gemm.tile_n);
  Demand demand;
  demand.flop = 2 * size.m * size.n * size.k;
  demand.dtype = size.dtype;
  demand.memory_bytes = size.memory_bytes * traffic(model.gemm, size, tiles);
  demand.workgroups = tiles;
  if (demand.flop <= 0) return demand;
  const double unit_rate = peak->second / model.compute_units;
  const double tile_flop = 2.0 * model.gemm.tile_m * model.gemm.tile_n * size.k;
  const double tile_seconds =
      tile_flop / (unit_rate * model.gemm.efficiency.at(size.dtype)) + model.gemm.workgroup_seconds;
  demand.efficiency = demand.flop / tiles / unit_rate / tile_seconds;
  return demand;
}

}  // namespace duet::sim
