// In words at which sizes which engine is ahead.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// "all_gather fp32: dma is the fastest from 4 MiB on, 1.20 times nccl at 1 GiB", for each
// collective_crossover of a section's results; whole lines, "" where there is none.
std::string crossover_lines(const std::vector<Record>& results);

}  // namespace duet
