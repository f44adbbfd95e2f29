// Rates that follow from what a work costs and how long it took, and the headings that name their
// units. A benchmark adds only rates that its cost does not give, such as a fitted line's
// (Measurement::rates).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "timing/work.h"

namespace duet {

using Rates = std::vector<std::pair<std::string, double>>;

// "tflops" where there are FLOP, else "gb_per_s" of the bytes between devices, or of device
// memory where nothing travels; of a collective "busbw_gb_per_s", "algbw_gb_per_s" and, where it is
// known what leaves the busiest rank, "wire_gb_per_s"; of what goes over a network "gbit_per_s"
// and, where the links' speed is known, "percent_of_link". Empty if seconds is not positive.
Rates rates_from(const Cost& cost, double seconds);

// How a column of this rate is headed: "TFLOP/s", "GB/s"; a rate of a benchmark's own by its name
// with the unit in brackets.
std::string rate_heading(const std::string& rate);

// The value with three to four digits, in the unit that the heading names.
std::string rate_text(const std::string& rate, double value);

// The first rate of a record that has "rates", with its unit: "49.98 GB/s"; "" if there is none.
std::string main_rate(const nlohmann::ordered_json& record);

// Half the confidence interval of the median, relative to it: "0.3%"; of a record's "seconds".
std::string interval_text(const nlohmann::ordered_json& seconds);

// What a list says behind it of a collective: "algbw 1.817 GB/s, wire 1.363 GB/s, wrong 0, count
// 65536"; "" of anything else.
std::string collective_text(const nlohmann::ordered_json& record);

// The number of that rate; of an overlap, which has none, its fraction of the ideal.
std::optional<double> main_value(const nlohmann::ordered_json& record);

// What a table says behind it of messages over a network: "98% of link, p50 2.11 ms, p95 2.13 ms,
// p99 2.20 ms", and the parts of a proxy's work; "" of anything else.
std::string network_text(const nlohmann::ordered_json& record);

}  // namespace duet
