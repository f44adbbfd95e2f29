#pragma once

#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `fabric`.
Expectation expect_fabric(const Record& record, const Site& site);

// RecordKind::rates of `fabric`: "gbit_per_s"; "percent_of_link" if the links' speed is known.
Rates fabric_rates(const Cost& cost, double seconds);

// What a table prints after the main rate of messages: "98% of link, p50 2.11 ms, p95 2.13 ms, p99
// 2.20 ms", then the times of a proxy's steps if the record has them. "" for other records.
std::string network_text(const Record& record);

}  // namespace duet
