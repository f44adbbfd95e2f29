#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "overlap/advisor/device_table.h"
#include "overlap/peaks.h"

namespace duet {

// The share of a peak rate that is assumed to be reached where nothing was measured. Source: the
// ConCCL paper, section V-C.
inline constexpr double kUsualEfficiency = 0.7;

// Forecasts the times of works that were not measured, from a device's table and, where the table
// has nothing, from the maker's peak rates.
class Forecast {
 public:
  // Both arguments must outlive this object.
  Forecast(const DeviceTable& table, const DevicePeaks& peaks) : table_(table), peaks_(peaks) {}
  Forecast(const DeviceTable& table, DevicePeaks&& peaks) = delete;

  // Compares the problem's FLOP per byte with the ratio of the device's measured rates.
  BoundClass bound(const GemmProblem& problem) const;

  // Seconds of a GEMM alone when `taken` units are withheld from it. The rate is that of the
  // table's GEMM of the same class (of several, the one nearest in FLOP), multiplied by that GEMM's
  // factor for the withheld units. Throws UsageError where neither the table nor the peaks have a
  // rate.
  double compute(const GemmProblem& problem, int taken) const;

  // Seconds of a collective alone on `granted` units (0: all): latency + bytes / bandwidth, fitted
  // to the table's sizes. Throws UsageError where the table and the peaks have no rate.
  double communication(CollectiveKind kind, std::uint64_t bytes, const std::string& engine,
                       int granted) const;

  // The number of units that the engine uses if it is not limited: the smallest with which its time
  // is within 2% of its best.
  int units_needed(CollectiveKind kind, const std::string& engine) const;

 private:
  double flop_rate(const GemmEntry& entry, DType dtype) const;
  double flop_rate(DType dtype) const;  // the highest of the table's GEMMs
  double memory_rate() const;
  const GemmEntry* nearest(const GemmProblem& problem) const;
  const CollectiveEntry* entry(CollectiveKind kind, const std::string& engine) const;

  const DeviceTable& table_;
  const DevicePeaks& peaks_;
};

}  // namespace duet
