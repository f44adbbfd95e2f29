// Times of works that were not measured, from a device's table, and from what its maker promises
// where the table has nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "overlap/advisor/device_table.h"
#include "overlap/peaks.h"

namespace duet {

// What arrives of a promise where nothing was measured: the ConCCL paper's figure (its section
// V-C).
inline constexpr double kUsualEfficiency = 0.7;

class Forecast {
 public:
  // Both must outlive it.
  Forecast(const DeviceTable& table, const DevicePeaks& peaks) : table_(table), peaks_(peaks) {}
  Forecast(const DeviceTable& table, DevicePeaks&& peaks) = delete;

  // By FLOP per byte against the ratio of the device's rates.
  BoundClass bound(const GemmProblem& problem) const;

  // Seconds alone, without `taken` of the units: at the rate that the table's GEMM of the same
  // class reached, of several the nearest in FLOP, times that one's slowdown. Throws UsageError
  // where neither table nor promise has a rate.
  double compute(const GemmProblem& problem, int taken) const;

  // Seconds alone, by so many units (0: all): latency + bytes / bandwidth through the sizes that
  // the table has. Throws UsageError likewise.
  double communication(CollectiveKind kind, std::uint64_t bytes, const std::string& engine,
                       int granted) const;

  // Units that the engine takes if it may: the fewest with which it is within 2% of its best.
  int units_needed(CollectiveKind kind, const std::string& engine) const;

 private:
  double flop_rate(const GemmEntry& entry, DType dtype) const;
  double flop_rate(DType dtype) const;  // the best
  double memory_rate() const;
  const GemmEntry* nearest(const GemmProblem& problem) const;
  const CollectiveEntry* entry(CollectiveKind kind, const std::string& engine) const;

  const DeviceTable& table_;
  const DevicePeaks& peaks_;
};

}  // namespace duet
