// A section's results as one table that a terminal shows whole: engines, sizes or policies beside
// each other where they fit, no more than some lines of it, and what is not in it said below.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

inline constexpr std::size_t kShortWidth = 100;
inline constexpr std::size_t kShortRows = 30;

// Takes the results of one section, whose benchmark ("gemm") decides what stands beside each other,
// and returns whole lines, "" where nothing was measured. Of more than kShortRows lines as many are
// shown, evenly spread from the first to the last.
std::string short_table(const std::string& benchmark, const std::vector<Record>& results);

}  // namespace duet
