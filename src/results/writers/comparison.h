#pragma once

#include <string>
#include <vector>

#include "results/compare.h"

namespace duet {

// A table with a line for each case: first the cases that broke, then the worse ones and the better
// ones by size of the change, then those that are too noisy to tell, then the rest in the journals'
// order. Pairs of devices that changed alike are one line. Cases that are unchanged, skipped in
// both, or too noisy to tell with a change below kPlainPercent are shown only with `all`. Words are
// cut where lines would be longer than `width`. "" if there is no case to show.
std::string comparison_table(const std::vector<ComparedCase>& cases, bool all, std::size_t width);

// A table with a line for each benchmark: the geometric mean of the changes of its rates (or the
// mean difference of its fractions), the least and the largest. "" if nothing was compared.
std::string comparison_benchmarks(const std::vector<ComparedCase>& cases);

// "486 cases: 3 worse, 5 better, 470 unchanged, 8 missing": no newline.
std::string comparison_counts(const std::vector<ComparedCase>& cases);

// The noise of the median and of the noisiest case as a sentence: no newline, "" if no rate was
// measured on both sides.
std::string comparison_noise(const std::vector<ComparedCase>& cases);

// The verdict as one line: "worse (one sample)", "not comparable: mode adaptive, now loop".
std::string verdict_text(const ComparedCase& one);

// "-12.3%", of fractions "-0.12"; "" if the case has no change.
std::string change_text(const ComparedCase& one);

// "4.1%", of fractions "0.04"; "" if the case has no noise.
std::string noise_text(const ComparedCase& one);

// A comparison as comma-separated values, with a line for every case. Columns: benchmark, device,
// engine, the axes in order of appearance, verdict, change_percent, noise_percent, one_sample,
// reason, rate (its name), then base_... and new_... for runs, outcome, rate, median_seconds,
// ci_low_seconds, ci_high_seconds and n. Device and axes have BASE's names.
std::string comparison_csv(const std::vector<ComparedCase>& cases);

// A comparison as one JSON document, which docs/results.md describes. Ends in a newline. Bytes of
// the journals that are not UTF-8 are replaced.
std::string comparison_json(const JournalSide& base, const JournalSide& now,
                            const std::vector<ComparedCase>& cases);

}  // namespace duet
