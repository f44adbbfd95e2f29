#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// A line for each collective_crossover of a section's results, with the sizes at which an engine is
// the fastest: "all_gather fp32: dma is the fastest from 4 MiB on, 1.20 times nccl at 1 GiB". "" if
// there is no crossover.
std::string crossover_lines(const std::vector<Record>& results);

}  // namespace duet
