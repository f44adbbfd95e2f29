#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// Of the measured training steps of a section: a table of a rank's memory by kind in GB, and, where
// parts were timed, one of their times in ms. A line for each case; "" if there are none. The
// memory of input, which is next to nothing, is in the sum alone. Of a run on a text: a line with
// its losses.
std::string training_tables(const std::vector<Record>& results);

}  // namespace duet
