#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

inline constexpr std::size_t kShortWidth = 100;
inline constexpr std::size_t kShortRows = 30;

// The results of one section as a table of at most kShortWidth columns of text and kShortRows
// lines. Engines, sizes or policies, depending on the benchmark ("gemm"), are columns if they fit.
// Of more lines, kShortRows are shown, evenly spread from the first to the last, and the text below
// the table tells what is left out. "" if nothing was measured.
std::string short_table(const std::string& benchmark, const std::vector<Record>& results);

}  // namespace duet
