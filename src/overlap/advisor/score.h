#pragma once

#include <string>
#include <vector>

#include "overlap/advisor/advisor.h"

namespace duet {

// Compares the advisor with a sweep that measured every policy.
struct ScenarioScore {
  std::string scenario;
  std::string advised, best;  // policies
  double advised_seconds = 0, best_seconds = 0, forecast_seconds = 0;
  double loss() const { return advised_seconds / best_seconds - 1; }
};

// The scores of all scenarios of a sweep.
struct Score {
  std::vector<ScenarioScore> scenarios;  // in the order of the sweep
  int right() const;                     // scenarios whose advice is within 1% of the sweep's best
  double worst_loss() const;
};

// Scores the advisor on `sweep`, rows of the benchmark `overlap`.
// - The row of the best point of a partition's sweep is ignored, since its points are rows too.
// - The advisor chooses among the measured policies. It must not see their times: the table's pairs
//   with the scenario's GEMM and bytes, of any collective, are removed first.
// Throws UsageError where the sweep has no scenario.
Score score(const DeviceTable& table, const DevicePeaks& peaks,
            const std::vector<OverlapRow>& sweep);

}  // namespace duet
