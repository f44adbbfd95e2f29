// The matrix of a machine's pairs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// Takes the results of one section and returns whole lines, "" where there are fewer than two
// pairs. A case that was skipped or failed is "-". Source by destination, for the copies of the
// pattern `pair`, at the size at which most pairs of a group of cases were measured that differ in
// nothing else.
std::string pair_matrices(const std::vector<Record>& results);

// The keys of the cases that are there for a matrix alone: pairs at one size, among at least three.
std::set<std::string> matrix_only(const std::vector<CaseId>& cases);

}  // namespace duet
