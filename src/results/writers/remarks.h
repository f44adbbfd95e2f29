// What tables say besides figures: which are in doubt, uncertain or missing.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// "?" after a figure of a CPU that other programs used meanwhile, else "".
std::string doubt_mark(const Record& record);

// What the marks mean, as a line: "  ? in doubt: others used 57% of the CPU, 0% was stolen". "" if
// no result is in doubt.
std::string doubt_line(const std::vector<Record>& records);

// What would make the wide intervals of a run narrower, as a line: "  2 of 9 cases have +- over 2%
// (1 drifts: clocks or load still change): --seconds 6 would halve it". Cases count that ended at
// their time limit. "" if there are none.
std::string interval_lines(const std::vector<Record>& records);

// The cases that have no figure, with a line for each reason: "12 cases skipped: REASON". Reasons
// that differ only in numbers count as one. At most a few lines.
std::string missing_lines(const std::vector<Record>& results);

// `text` with "..." in place of each number.
std::string without_numbers(const std::string& text);

}  // namespace duet
