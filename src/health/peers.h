#pragma once

#include <vector>

#include "health/checks.h"

namespace duet {

// Each device of a run beside the others of its node (fleet/judge.h): failed if it, or a link of
// it, is likely or surely slower than its peers. Nothing where fewer than three can be compared.
std::vector<Check> peer_checks(const Environment& environment, const std::vector<Record>& records);

}  // namespace duet
