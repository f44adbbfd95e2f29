// The cases of a section without a figure, by their reasons.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// The cases that have no figure, a line a reason: "12 cases skipped: REASON"; reasons that differ
// in numbers alone are one. At most a few lines.
std::string missing_lines(const std::vector<Record>& results);

// `text` with "..." for each number in it.
std::string without_numbers(const std::string& text);

}  // namespace duet
