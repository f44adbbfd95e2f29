// What a result should be. On a GPU it follows from the device spec, on a CPU from the peaks that
// Duet measured there. Each workload has a function for its records (RecordKind::expect).
// docs/verdicts.md has the reasons.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/record.h"
#include "verdict/device_spec.h"

namespace duet {

// A record that is a peak (RecordKind::is_peak), and the rates that it reached, in the unit of its
// first rate.
struct MeasuredPeak {
  Record record;       // without its samples
  std::string rate;    // "tflops"
  double usual = 0;    // by the median
  double fastest = 0;  // by the fastest sample
};
using MeasuredPeaks = std::map<std::string, MeasuredPeak>;  // by RecordKind::peak: "gemm bf16"

// The machine on which a record was measured. `machine` must outlive the site.
struct Site {
  const MachineFacts& machine;
  std::string model;                 // of all its devices
  const DeviceSpec* spec = nullptr;  // nullptr: specs/devices does not have the model
  MeasuredPeaks peaks;
  ByName<std::string> variables;  // environment variables that change results
};

inline constexpr double kMemoryShare = 0.80;  // of the spec's bandwidth, of a streaming kernel

// Rates in the unit of the record's first rate.
struct Expectation {
  std::optional<double> bound;     // the hardware's limit; nullopt: not known
  std::optional<double> expected;  // the rate of a healthy device; nullopt: not known
  std::string unknown;             // text: why `expected` is not known
  std::string basis;               // text: how `expected` was derived
  std::string advice;              // text: what to try if the rate is lower
  bool measured_bound = false;     // the bound is a measurement and has noise
};

// The size of the last-level cache in front of a device's memory: the larger of the driver's value
// and the spec's. The site must have a spec.
inline double cache_bytes(const Site& site) {
  const std::vector<DeviceInfo>& devices = site.machine.devices;
  const double told = devices.empty() ? 0.0 : static_cast<double>(devices.front().cache_bytes);
  return std::max(told, site.spec->cache_bytes);
}

}  // namespace duet
