#pragma once

#include <string>
#include <vector>

#include "results/compare.h"

namespace duet {

// A comparison as comma-separated values, with a line for every case. Columns: benchmark, device,
// engine, the axes in order of appearance, verdict, change_percent, noise_percent, one_sample,
// reason, rate (its name), then base_... and new_... for runs, outcome, rate, median_seconds,
// ci_low_seconds, ci_high_seconds and n. Device and axes have BASE's names.
std::string comparison_csv(const std::vector<ComparedCase>& cases);

}  // namespace duet
