// What a simulated machine makes of the cases of a measured journal, held against what was
// measured.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "device/machine.h"
#include "overlap/row.h"

namespace duet {

struct PredictedCase {
  std::string scenario;
  OverlapPolicy policy;
  double measured = 0, predicted = 0;  // seconds of both sides together
  // Of ideal; NaN where the journal has none.
  double measured_fraction = std::numeric_limits<double>::quiet_NaN();
  double predicted_fraction = std::numeric_limits<double>::quiet_NaN();

  double error() const { return predicted / measured - 1; }
  double fraction_error() const { return predicted_fraction - measured_fraction; }
};

// Mean absolute errors.
struct PredictionError {
  std::string policy;  // "all" of all together
  int cases = 0;
  double seconds = 0;   // as a share of what was measured
  double fraction = 0;  // over the cases that have one
};

struct Prediction {
  std::vector<PredictedCase> cases;  // as the journal has them
  std::vector<std::string> missing;  // policies that the machine does not have, with why

  // By policy, in the order in which they first come, and at last of all.
  std::vector<PredictionError> errors() const;
};

// Cases of duet overlap; the best of a sweep is left out, since its points are cases of their own.
// Throws UsageError for a machine that is not simulated, for rows of other numbers of ranks, and
// where no case is left; Interrupted where `stop`, asked between cases, says so.
Prediction predict(Machine& machine, const std::vector<OverlapRow>& measured,
                   const std::function<bool()>& stop = {});

}  // namespace duet
