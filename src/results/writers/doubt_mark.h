// Marks of figures of a CPU that other programs used meanwhile.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// "?" after a figure that is in doubt, else "".
std::string doubt_mark(const Record& record);

// What the marks mean, as a line: "  ? in doubt: others used 57% of the CPU, 0% was stolen". "" if
// no result is in doubt.
std::string doubt_line(const std::vector<Record>& records);

}  // namespace duet
