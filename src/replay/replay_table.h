#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// Of the records `replay` among the results: by trace and order, each engine's step with its parts,
// and what it saves against the first engine; below it, what the figures do not contain. "" without
// such records.
std::string replay_table(const std::vector<Record>& results);

}  // namespace duet
