// Rates that follow from the cost and the time of a work, and their text with units. A benchmark
// itself adds only rates that do not follow from its cost, such as those of a fitted line
// (Measurement::rates).
#pragma once

#include <optional>
#include <string>

#include "results/record_kind.h"

namespace duet {

// The rates that follow from the cost of a benchmark's call and its time, as its RecordKind says.
// Empty if `seconds` is not positive.
Rates rates_of(const std::string& benchmark, const Cost& cost, double seconds);

// The heading of a column of this rate: "TFLOP/s", "GB/s"; for a rate that a benchmark adds, its
// name with the unit: "limit GB/s".
std::string rate_heading(const std::string& rate);

// The value with three to four digits, in the unit that the heading names.
std::string rate_text(const std::string& rate, double value);

// The first rate of a record, with its unit: "49.98 GB/s". For an overlap, which has no rate: "0.97
// of ideal, bound 0.95". "" if there is neither.
std::string main_rate(const Record& record);

// Half the width of the confidence interval, relative to the median: "0.3%"; ">0.3%" if the samples
// do not bound their median. "" if the median is 0.
std::string interval_text(const Seconds& seconds);

// The value of the first rate; for an overlap, which has no rate, its fraction of the ideal.
std::optional<double> main_value(const Record& record);

}  // namespace duet
