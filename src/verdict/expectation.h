// What a result should be: from what its device promises or, on a CPU, from the peaks that Duet
// measured on it. One file a benchmark (gemm.cc, copy.cc, collective.cc, fabric.cc);
// docs/verdicts.md is the reasoning.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "results/record.h"
#include "verdict/device_spec.h"

namespace duet {

// A ceiling that was measured on a device, by a gemm_peak or a copy_peak.
struct MeasuredPeak {
  double usual = 0;       // of the median
  double fastest = 0;     // of the fastest sample
  double bytes = 0;       // that the copy peak moved; 0: of a gemm_peak
  bool by_tiles = false;  // a gemm_peak of AMX
};
struct MeasuredPeaks {
  std::map<std::string, MeasuredPeak> tflops;    // by dtype
  std::map<std::string, MeasuredPeak> gb_per_s;  // by executor; bytes read plus written
};

// Where a record was measured. Its machine's entry in the environment record.
struct Site {
  const Record& machine;
  std::string model;                 // of all its devices
  const DeviceSpec* spec = nullptr;  // none: nothing is known of the model
  MeasuredPeaks peaks;
  std::map<std::string, std::string> variables;  // of the environment, that change a result
};

// Rates in the unit of the record's first rate.
struct Expectation {
  std::optional<double> bound;     // what physics allows; none: not known
  std::optional<double> expected;  // what a healthy device gives; none: not known, see `unknown`
  std::string unknown;             // why there is no figure to expect, in words
  std::string basis;               // what `expected` is made of, in words
  std::string advice;              // what to try where it is not reached
  bool measured_bound = false;     // the bound is itself a measurement, with its noise
};

Expectation expect_gemm(const Record& record, const Site& site);
Expectation expect_copy(const Record& record, const Site& site);
Expectation expect_collective(const Record& record, const Site& site);
Expectation expect_fabric(const Record& record, const Site& site);

// The machine's devices; an empty array if it tells of none.
const Record& devices_of(const Record& machine);

// Of the last-level cache in front of a device's memory: the larger of what the device tells and
// its maker promises. The site must have a spec.
double cache_bytes(const Site& site);

}  // namespace duet
