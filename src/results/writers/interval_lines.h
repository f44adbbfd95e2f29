#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// What would make the wide intervals of a run narrower, as a line: "  2 of 9 cases have +- over 2%
// (1 drifts: clocks or load still change): --seconds 6 would halve it". Cases count that ended at
// their time limit. "" if there are none.
std::string interval_lines(const std::vector<Record>& records);

}  // namespace duet
