#pragma once

#include <string>
#include <vector>

#include "results/compare.h"

namespace duet {

// A comparison as one JSON document, which docs/results.md describes. Ends in a newline. Bytes of
// the journals that are not UTF-8 are replaced.
std::string comparison_json(const JournalSide& base, const JournalSide& now,
                            const std::vector<ComparedCase>& cases);

}  // namespace duet
