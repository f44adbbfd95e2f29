#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// The cases that have no figure, with a line for each reason: "12 cases skipped: REASON". Reasons
// that differ only in numbers count as one. At most a few lines.
std::string missing_lines(const std::vector<Record>& results);

// `text` with "..." in place of each number.
std::string without_numbers(const std::string& text);

}  // namespace duet
