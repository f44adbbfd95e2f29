#pragma once

#include <map>
#include <string>

#include "overlap/policy.h"
#include "overlap/scenario.h"
#include "timing/measurement.h"

namespace duet {

// A measured case in the form that tables and scores read, from this run or from a journal.
struct OverlapRow {
  CaseId id;
  double seconds = 0;  // median; 0: skipped
  std::map<std::string, double> metrics;

  // The value of an axis or metric. They throw Error, which names the axis or metric, where the
  // case does not have it or it has another type.
  std::string word(const std::string& axis) const;
  std::int64_t number(const std::string& axis) const;
  double metric(const std::string& name) const;
};

OverlapRow row_of(const Measurement& measurement);

// Parses a GEMM in the form of name(): "8192x57344x8192 bf16 nn". Throws UsageError.
GemmProblem parse_problem(const std::string& text);

// The scenario and the policy of a row of the benchmark `overlap`. They throw Error for a missing
// axis and UsageError for a value that cannot be parsed.
OverlapScenario scenario_of(const OverlapRow& row);
OverlapPolicy policy_of(const OverlapRow& row);

}  // namespace duet
