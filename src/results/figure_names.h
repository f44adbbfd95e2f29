#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

// The names of all rates of the records of a benchmark, and of records that follow from its cases,
// then those of its metrics that have a column in tables. In the order of the columns; empty for an
// unknown benchmark.
std::vector<std::string> figure_names(std::string_view benchmark);

}  // namespace duet
