#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// A line for each grouped GEMM among the results: the rows of its largest group, their ratio to the
// mean, and of each engine the time of a call and the rate as a share of the dense product's, where
// that was measured. "" if there is none.
std::string grouped_table(const std::vector<Record>& results);

}  // namespace duet
