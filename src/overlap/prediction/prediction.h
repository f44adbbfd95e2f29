#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "device/machine.h"
#include "overlap/row.h"

namespace duet {

// A measured case and its time on a simulated machine.
struct PredictedCase {
  std::string scenario;
  OverlapPolicy policy;
  double measured = 0, predicted = 0;  // seconds of both sides together
  // Fraction of the ideal speedup; NaN where the journal does not have it.
  double measured_fraction = std::numeric_limits<double>::quiet_NaN();
  double predicted_fraction = std::numeric_limits<double>::quiet_NaN();

  double error() const { return predicted / measured - 1; }
  double fraction_error() const { return predicted_fraction - measured_fraction; }
};

// Mean absolute errors over the cases of a policy.
struct PredictionError {
  std::string policy;  // "all": over all policies
  int cases = 0;
  double seconds = 0;   // relative to the measured time
  double fraction = 0;  // error of the fraction of ideal, over the cases that have one
};

// The result of predict().
struct Prediction {
  std::vector<PredictedCase> cases;  // in the journal's order
  std::vector<std::string>
      missing;  // policies that the machine does not have, each with the reason

  // One entry per policy, in the order of their first case; the last entry is over all policies.
  std::vector<PredictionError> errors() const;
};

// Runs the measured cases of `duet overlap` on a simulated machine. The best of a sweep is left
// out, because its points are cases too. `stop` is called between cases. Throws UsageError where
// the machine is not simulated, where the rows have another number of ranks, and where no case is
// left. Throws Interrupted when `stop` returns true.
Prediction predict(Machine& machine, const std::vector<OverlapRow>& measured,
                   const std::function<bool()>& stop = {});

}  // namespace duet
