// Which policy a pair of works should run under, by a device's table alone: the pair itself is
// not measured. After the heuristics of the ConCCL paper (its sections V-C and VI-G).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "overlap/forecast.h"

namespace duet {

struct PolicyForecast {
  OverlapPolicy policy;
  std::string engine;        // of the collective
  double compute = 0;        // alone, on the units that the policy leaves it; seconds
  double communication = 0;  // likewise
  double loss = 0;           // seconds for each second that both run
  double together = 0;       // T
  int units = 0;             // that the collective takes from the GEMM
};

struct Advice {
  OverlapPolicy policy;  // says the order and the units as well
  double seconds = 0;    // T to expect
  std::string why;       // in words
  std::vector<PolicyForecast> forecasts;  // of all policies, fastest first
};

// Of the policies that the table knows and `allowed` lets through (none: all), and of `serial`:
//
//   T = max(G, C) + loss x min(G, C)
//
// with G and C on the units that the policy leaves them. `loss` is what the table's pair that is
// most like this one lost under the policy: 0 where the shorter side cost nothing, 1 where both
// took as long as one after the other; it holds what both sides take from each other's memory
// bandwidth, power and place in the queue. The least T wins; among those within 1% of it, the
// fewest units. Throws UsageError for works of which neither table nor promise tells anything.
Advice advise(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario,
              const std::function<bool(const OverlapPolicy&)>& allowed = {});

// One of several works that run at once.
struct WorkNeed {
  std::string name;
  double workgroups = 0;  // blocks of its kernels; 0: by copy engines
};

// The order in which to enqueue them, as places in `works`: by rising need, equal ones as they
// come. What needs little would wait behind what takes every unit; the other way round both run.
std::vector<std::size_t> order_by_need(const std::vector<WorkNeed>& works);

// Workgroups of a GEMM in tiles of 128 x 256, which is what vendors' libraries use for large ones.
double workgroups(const GemmProblem& problem);

}  // namespace duet
