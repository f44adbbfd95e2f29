#pragma once

#include <string>
#include <vector>

#include "history/store.h"
#include "results/record_json.h"

namespace duet {

// A line for each figure of each host: how many runs, the first, the median, the last, and the last
// over the median of those before it. The points are as Store::points() sorts them.
std::string history_table(const std::vector<HistoryPoint>& points);

// Each figure over time: a line for each run.
std::string history_over_time(const std::vector<HistoryPoint>& points);

// For the report page: an object for each figure of each device and host, with `benchmark`,
// `engine`, `case`, `rate`, `device`, `model`, `host`, and by time the lists `times`, `values`,
// `revisions`.
Json history_series(const std::vector<HistoryPoint>& points);

// All points, a line each, under a line of names.
std::string history_csv(const std::vector<HistoryPoint>& points);

}  // namespace duet
