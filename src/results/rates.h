// Rates that follow from the cost and the time of a work, and their text with units. A benchmark
// itself adds only rates that do not follow from its cost, such as those of a fitted line
// (Measurement::rates).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record.h"

namespace duet {

using Rates = std::vector<std::pair<std::string, double>>;

// The rates by the first kind of cost that is not 0:
//   cost             rates
//   algorithm bytes  "busbw_gb_per_s", "algbw_gb_per_s"; "wire_gb_per_s" if the bytes that the
//                    busiest rank sends are known
//   network bytes    "gbit_per_s"; "percent_of_link" if the links' speed is known
//   points           "gb_per_s" of memory bytes, "glup_per_s" (10^9 points updated a second)
//   tokens           "tokens_per_s", "tflops"
//   samples          "samples_per_s", "tflops"
//   FLOP             "tflops"
//   wire bytes       "gb_per_s"
//   memory bytes     "gb_per_s"
// Empty if `seconds` is not positive.
Rates rates_from(const Cost& cost, double seconds);

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

// What a list prints after a collective's main rate: "algbw 1.817 GB/s, wire 1.363 GB/s, wrong 0,
// count 65536". "" for other records.
std::string collective_text(const Record& record);

// The value of the first rate; for an overlap, which has no rate, its fraction of the ideal.
std::optional<double> main_value(const Record& record);

// What a table prints after the main rate of messages over a network: "98% of link, p50 2.11 ms,
// p95 2.13 ms, p99 2.20 ms", then the times of a proxy's steps if the record has them. "" for other
// records.
std::string network_text(const Record& record);

}  // namespace duet
