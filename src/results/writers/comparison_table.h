#pragma once

#include <string>
#include <vector>

#include "results/compare.h"

namespace duet {

// A table with a line for each case: first the cases that broke, then the worse ones and the better
// ones by size of the change, then the rest in the journals' order. Cases that are unchanged, or
// skipped in both, are shown only with `all`. "" if there is no case to show.
std::string comparison_table(const std::vector<ComparedCase>& cases, bool all);

// "486 cases: 3 worse, 5 better, 470 unchanged, 8 missing": no newline.
std::string comparison_counts(const std::vector<ComparedCase>& cases);

// "noise: a case is worse from 4.1% on in the median, 31.0% at most": no newline, "" if no case was
// measured on both sides.
std::string comparison_noise(const std::vector<ComparedCase>& cases);

// The verdict as one line: "worse (one sample)", "not comparable: mode adaptive, now loop".
std::string verdict_text(const ComparedCase& one);

// "-12.3%", "" if the case has no change.
std::string change_text(const ComparedCase& one);

// "4.1%", "" if the case has no noise.
std::string noise_text(const ComparedCase& one);

}  // namespace duet
