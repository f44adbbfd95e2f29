// A schedule for people: who does what, and who waits for whom.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/schedule/checker.h"

namespace duet {

// A column for each of these ranks, and a row of lines for each step of the longest chain: what
// stands in a row may run at the same time, and waits for something above. A line is
// "LANE what": "signal ready -> 1,2", "wait ready <- 1,2", "copy send+0 -> recv@1+64, 64 B".
// "(speed)" marks what the result does not need.
//
// The ranks stand below each other, with the number of each step before its lines, where there is
// one, where columns would make lines longer than `widest`, and where the schedule has a fault.
std::string picture_of(const CollectiveSchedule& schedule, const std::vector<int>& ranks,
                       std::size_t widest);

}  // namespace duet
