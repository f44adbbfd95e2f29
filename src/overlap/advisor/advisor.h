// Chooses the policy for a pair of works from a device's table alone; the pair itself is not
// measured. The method follows the heuristics of the ConCCL paper (its sections V-C and VI-G).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "overlap/advisor/forecast.h"

namespace duet {

// The forecast for a scenario under one policy.
struct PolicyForecast {
  OverlapPolicy policy;
  std::string engine;        // engine of the collective
  double compute = 0;        // seconds alone, on the units that the policy leaves to the GEMM
  double communication = 0;  // seconds alone, on the units that the policy leaves to the collective
  double loss = 0;           // (T - longer side) / shorter side
  double slowdown = 1;       // of the shorter side while the longer one runs
  double together = 0;       // T, seconds of both together
  int units = 0;             // compute units that the collective takes from the GEMM
};

struct Advice {
  OverlapPolicy policy;                   // includes the order and the units
  double seconds = 0;                     // expected T
  std::string why;                        // the reason, for people
  std::vector<PolicyForecast> forecasts;  // all policies, the fastest first
};

// Forecasts T for `serial` and for every policy that the table knows and `allowed` accepts (an
// empty function accepts all):
//
//   T = max(longer + loss x shorter, min(slowdown x shorter, longer + shorter))
//
// - `longer` and `shorter` are the times of the two sides alone, on the units that the policy
//   leaves them.
// - loss and slowdown come from the table's pairs that are most similar to this one. They are 0 and
//   1 where the sides do not disturb each other, and 1 or more where both took as long as one after
//   the other. They contain the effects of memory bandwidth, power and order of execution.
// - The advice is the policy with the least T. Among policies within 1% of the least T it is the
//   one that takes the fewest units.
// Throws UsageError for works that can be forecast neither from the table nor from the peak rates.
Advice advise(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario,
              const std::function<bool(const OverlapPolicy&)>& allowed = {});

}  // namespace duet
