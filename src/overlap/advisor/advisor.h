// Which policy a pair of works should run under, by a device's table alone: the pair itself is
// not measured. After the heuristics of the ConCCL paper (its sections V-C and VI-G).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "overlap/advisor/forecast.h"

namespace duet {

struct PolicyForecast {
  OverlapPolicy policy;
  std::string engine;        // of the collective
  double compute = 0;        // alone, on the units that the policy leaves it; seconds
  double communication = 0;  // likewise
  double loss = 0;           // of T, over the longer side, as a share of the shorter one
  double slowdown = 1;       // of the shorter side while the longer one runs
  double together = 0;       // T
  int units = 0;             // that the collective takes from the GEMM
};

struct Advice {
  OverlapPolicy policy;                   // says the order and the units as well
  double seconds = 0;                     // T to expect
  std::string why;                        // in words
  std::vector<PolicyForecast> forecasts;  // of all policies, fastest first
};

// Of the policies that the table knows and `allowed` lets through (none: all), and of `serial`:
//
//   T = max(longer + loss x shorter, min(slowdown x shorter, longer + shorter))
//
// with G and C on the units that the policy leaves them. Loss and slowdown are those of the table's
// pair that is most like this one: 0 and 1 where the sides do not disturb each other, 1 and more
// where both took as long as one after the other. They hold memory bandwidth, power and place in
// the queue together. The least T wins; among those within 1% of it, the fewest units. Throws
// UsageError for works of which neither table nor promise tells anything.
Advice advise(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario,
              const std::function<bool(const OverlapPolicy&)>& allowed = {});

}  // namespace duet
