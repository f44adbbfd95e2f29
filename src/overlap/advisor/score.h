// The advisor against a sweep that measured every policy.
#pragma once

#include <string>
#include <vector>

#include "overlap/advisor/advisor.h"

namespace duet {

struct ScenarioScore {
  std::string scenario;
  std::string advised, best;  // policies
  double advised_seconds = 0, best_seconds = 0, forecast_seconds = 0;
  double loss() const { return advised_seconds / best_seconds - 1; }
};

struct Score {
  std::vector<ScenarioScore> scenarios;  // in the order of the sweep
  int right() const;                     // those within 1% of the sweep's best
  double worst_loss() const;
};

// `sweep`: rows of the benchmark `overlap`; the best of a partition's sweep is passed over for the
// points it is the best of. The advisor chooses among the policies that were measured and sees
// nothing of what they took: pairs of the table with the scenario's GEMM and bytes, whatever their
// collective, are taken out before it is asked. Throws UsageError where the sweep has no scenario.
Score score(const DeviceTable& table, const DevicePeaks& peaks,
            const std::vector<OverlapRow>& sweep);

}  // namespace duet
