// A measured case as tables and scores need it, fresh or from a journal.
#pragma once

#include <map>
#include <string>

#include "overlap/policy.h"
#include "overlap/scenario.h"
#include "timing/measurement.h"

namespace duet {

struct OverlapRow {
  CaseId id;
  double seconds = 0;  // median; 0: skipped
  std::map<std::string, double> metrics;

  // Throw Error naming the axis or metric that the case does not have, or not of that type.
  std::string word(const std::string& axis) const;
  std::int64_t number(const std::string& axis) const;
  double metric(const std::string& name) const;
};

OverlapRow row_of(const Measurement& measurement);

// "8192x57344x8192 bf16 nn", as name() gives it. Throws UsageError.
GemmProblem parse_problem(const std::string& text);

// Of a row of the benchmark `overlap`. Throw Error, UsageError for values that cannot be read.
OverlapScenario scenario_of(const OverlapRow& row);
OverlapPolicy policy_of(const OverlapRow& row);

}  // namespace duet
