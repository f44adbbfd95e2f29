// A comparison for people: what changed, the worst first, and the counts.
#pragma once

#include <string>
#include <vector>

#include "results/compare.h"

namespace duet {

// A line a case: the worse by how much, those that broke before all, then the better by how much,
// then the rest in the journals' order; what is unchanged or skipped in both only with `all`. Whole
// lines, "" where there is no case to show.
std::string comparison_table(const std::vector<ComparedCase>& cases, bool all);

// "486 cases: 3 worse, 5 better, 470 unchanged, 8 missing": no newline.
std::string comparison_counts(const std::vector<ComparedCase>& cases);

// "noise: a case is worse from 4.1% on in the median, 31.0% at most": no newline, "" where nothing
// was measured on both sides.
std::string comparison_noise(const std::vector<ComparedCase>& cases);

// "worse (one sample)", "not comparable: mode adaptive, now loop": in one line.
std::string verdict_text(const ComparedCase& one);

// "-12.3%", "" where there is none.
std::string change_text(const ComparedCase& one);

// "4.1%", "" where there is none.
std::string noise_text(const ComparedCase& one);

}  // namespace duet
