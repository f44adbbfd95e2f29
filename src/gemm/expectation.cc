#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "gemm/workload.h"

namespace duet {
namespace {

constexpr double kWaves = 2;         // waves of the smallest tiles; with fewer, libraries split K
constexpr double kShortest = 30e-6;  // seconds; launch latency dominates shorter works
// Share of the measured peak; docs/results/epyc-2-cores has 0.67 to 0.95.
constexpr double kCpuGemmShare = 0.72;
constexpr double kCpuSmallest = 1024;  // smallest M, N and K

// The tiles into which libraries divide C. `share` is the rate relative to that of the large tile:
// an assumption, because a smaller tile reads more from the cache for each FLOP.
struct Tile {
  double m, n, share;
};
constexpr Tile kTiles[] = {{256, 256, 1.0}, {256, 128, 0.95}, {128, 128, 0.85}};

double tiles_of(const Record& record, const Tile& tile) {
  return std::ceil(axis_number(record.id, "m") / tile.m) *
         std::ceil(axis_number(record.id, "n") / tile.n);
}

// The average share of the units that work, the last wave of tiles included, times the tile's
// share; for the best tile.
double wave_share(const Record& record, double units) {
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = tiles_of(record, tile);
    best = std::max(best, tile.share * tiles / (std::ceil(tiles / units) * units));
  }
  return best;
}

std::optional<DType> dtype_of(const Record& record) {
  for (const DType type : all_dtypes()) {
    if (name(type) == axis_word(record.id, "dtype")) return type;
  }
  return std::nullopt;
}

Expectation unknown(std::string why) {
  Expectation expectation;
  expectation.unknown = std::move(why);
  return expectation;
}

// Advice for a low figure on a CPU: a variable that slows the library down, else other load.
std::string cpu_advice(const Record& record, const Site& site) {
  const std::string* core = site.variables.find("OPENBLAS_CORETYPE");
  if (record.id.engine == "openblas" && core != nullptr) {
    return fmt::format(
        "OPENBLAS_CORETYPE={} is set, which chooses kernels for another CPU: unset "
        "it",
        *core);
  }
  return "look for other load on the cores and for a power or frequency limit; another engine of "
         "the table may do better";
}

// The expected share of the peak of AMX, by the smallest of M, N and K: nine tenths of what
// oneDNN 2.6 reaches in docs/results/xeon-2-cores, which is 0.25, 0.21 and 0.17 in bf16.
double amx_share(double smallest) {
  if (smallest >= 4096) return 0.15;
  return smallest >= 2048 ? 0.19 : 0.22;
}

Expectation gemm_on_cpu(const Record& record, const Site& site) {
  if (record.id.benchmark == "gemm_grouped") {
    return unknown("what libraries reach over groups of rows on a CPU is not known");
  }
  const std::string dtype = axis_word(record.id, "dtype");
  const auto peak = site.peaks.find(gemm_peak_name(dtype));
  if (peak == site.peaks.end()) {
    return unknown(fmt::format("the run has no multiply-add peak of this CPU in {}", dtype));
  }
  Expectation expectation;
  expectation.bound = peak->second.fastest;
  expectation.measured_bound = true;
  const double smallest = std::min(
      {axis_number(record.id, "m"), axis_number(record.id, "n"), axis_number(record.id, "k")});
  if (smallest < kCpuSmallest) {
    expectation.unknown = "the shape is small: packing and threads decide, not the units";
    return expectation;
  }
  // AMX has "tdpbf16ps, tiles of 16 x 64 bytes"; other instructions work on vectors.
  const std::string instruction = peak->second.record.notes.value("instruction");
  const bool by_tiles = instruction.find("tiles") != std::string::npos;
  const double share = by_tiles ? amx_share(smallest) : kCpuGemmShare;
  expectation.expected = share * peak->second.fastest;
  expectation.basis = fmt::format(
      "{:.0f}% of the {:.4g} TFLOP/s that this CPU's multiply-add peak{} "
      "measured",
      100 * share, peak->second.fastest, by_tiles ? " (AMX)" : "");
  expectation.advice = cpu_advice(record, site);
  return expectation;
}

// The reasons for which clocks were held down: "power cap, thermal"; "" if there are none.
std::string throttled(const Record& record) {
  std::string reasons;
  if (!record.telemetry) return reasons;
  for (const std::string& reason : record.telemetry->throttle) {
    reasons += (reasons.empty() ? "" : ", ") + reason;
  }
  return reasons;
}

// The shortest time to move the operands; 0 if they may be in the cache already.
double seconds_of_memory(const Record& record, const Site& site) {
  const double bytes = record.cost.memory_bytes;
  if (!record.flushed && bytes <= cache_bytes(site)) return 0;
  return bytes / site.spec->memory_gb_per_s / 1e9;
}

std::string gpu_advice(const Record& record) {
  const std::string reasons = throttled(record);
  if (!reasons.empty()) {
    return fmt::format(
        "the clocks were held down ({}): look at the power limit and the cooling, "
        "and measure with --mode sustained",
        reasons);
  }
  return "measure with --mode sustained to see clocks and power, and with other engines; a tuning "
         "cache of another driver wants to be removed";
}

}  // namespace

Expectation expect_gemm(const Record& record, const Site& site) {
  if (site.spec == nullptr) return gemm_on_cpu(record, site);
  const DeviceSpec& spec = *site.spec;
  const auto dtype = dtype_of(record);
  const auto peak = dtype ? spec.tflops.find(*dtype) : spec.tflops.end();
  if (peak == spec.tflops.end()) {
    return unknown(
        fmt::format("{} promises no peak in {}", spec.name, axis_word(record.id, "dtype")));
  }
  const double flop = record.cost.flop;
  const double bytes = record.cost.memory_bytes;
  const double shortest = std::max(flop / peak->second / 1e12, seconds_of_memory(record, site));
  Expectation expectation;
  expectation.bound = flop / shortest / 1e12;
  const auto efficiency = spec.efficiency.find(*dtype);
  if (record.id.benchmark == "gemm_grouped") {
    expectation.unknown = "what libraries reach over groups of rows is not known";
    return expectation;
  }
  if (record.id.benchmark == "gemm_search") {
    expectation.unknown = "a search looks for the highest rate there is";
    return expectation;
  }
  if (efficiency == spec.efficiency.end()) {
    expectation.unknown =
        fmt::format("what a library reaches in {} on {} is not known", name(*dtype), spec.name);
    return expectation;
  }
  const double waves = wave_share(record, spec.compute_units);
  const double computing = flop / (waves * efficiency->second * peak->second) / 1e12;
  const double moving = bytes / (kMemoryShare * spec.memory_gb_per_s) / 1e9;
  const double seconds = std::max(computing, moving);
  const double smallest_tiles = tiles_of(record, kTiles[std::size(kTiles) - 1]);
  if (smallest_tiles < kWaves * spec.compute_units || seconds < kShortest) {
    expectation.unknown = "the shape is small: launch and the last wave decide, not the units";
    return expectation;
  }
  expectation.expected = flop / seconds / 1e12;
  expectation.basis = computing >= moving
                          ? fmt::format("{:.0f}% of the dense {} peak of {:.4g} TFLOP/s",
                                        100 * efficiency->second, name(*dtype), peak->second)
                          : fmt::format("{:.0f}% of the {:.4g} GB/s of its memory",
                                        100 * kMemoryShare, spec.memory_gb_per_s);
  expectation.advice = gpu_advice(record);
  return expectation;
}

}  // namespace duet
