#pragma once

#include <string>
#include <vector>

#include "results/record.h"
#include "verdict/expectation.h"
#include "workload/workload.h"

namespace duet {

// RecordKind::expect of `collective`.
Expectation expect_collective(const Record& record, const Site& site);

// RecordKind::rates of `collective`: "busbw_gb_per_s", "algbw_gb_per_s"; "wire_gb_per_s" if the
// bytes that the busiest rank sends are known, "percent_of_rails" if those between nodes and their
// links are. Without the bytes of a collective: usual_rates().
Rates collective_rates(const Cost& cost, double seconds);

// What a list prints after a collective's main rate: "algbw 1.817 GB/s, wire 1.363 GB/s, wrong 0,
// count 65536". "" for records without these rates.
std::string collective_text(const Record& record);

// A line for each collective_crossover of a section's results, with the sizes at which an engine is
// the fastest: "all_gather fp32: dma is the fastest from 4 MiB on, 1.20 times nccl at 1 GiB". "" if
// there is no crossover.
std::string crossover_lines(const std::vector<Record>& results);

// A table for each measured collective_groups of a section's results, with a line for each group:
// its time alone and at once with all others, the ratio, and the bus bandwidth at once.
std::string groups_tables(const std::vector<Record>& results);

}  // namespace duet
