// What a result should be. On a GPU it follows from the device spec, on a CPU from the peaks that
// Duet measured there. Each benchmark has a file (gemm.cc, copy.cc, collective.cc, halo.cc,
// fabric.cc, training.cc). docs/verdicts.md has the reasons.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "results/record.h"
#include "verdict/device_spec.h"

namespace duet {

// The rate that a gemm_peak or a copy_peak reached on a device, in the unit of its record.
struct MeasuredPeak {
  double usual = 0;       // by the median
  double fastest = 0;     // by the fastest sample
  double bytes = 0;       // size of a copy_peak; 0: a gemm_peak
  bool by_tiles = false;  // a gemm_peak by AMX instructions
};
struct MeasuredPeaks {
  std::map<std::string, MeasuredPeak> tflops;    // by dtype
  std::map<std::string, MeasuredPeak> gb_per_s;  // by executor; bytes read plus written
};

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

Expectation expect_gemm(const Record& record, const Site& site);
Expectation expect_copy(const Record& record, const Site& site);
Expectation expect_collective(const Record& record, const Site& site);
Expectation expect_halo(const Record& record, const Site& site);
Expectation expect_fabric(const Record& record, const Site& site);
Expectation expect_training(const Record& record, const Site& site);

// The size of the last-level cache in front of a device's memory: the larger of the driver's value
// and the spec's. The site must have a spec.
double cache_bytes(const Site& site);

}  // namespace duet
