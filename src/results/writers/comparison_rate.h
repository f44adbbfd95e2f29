#pragma once

#include <string>

#include "results/compare.h"

namespace duet {

// The name of the rate by which both sides of a case are shown: the first rate of the side that has
// one. "" if neither side is measured, or what was measured has no rate.
std::string comparison_rate(const ComparedCase& one);

}  // namespace duet
