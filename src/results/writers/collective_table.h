// Collectives as nccl-tests shows them, with engines beside each other, and in words from which
// size on which engine is ahead.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

// Both take the results of one section and return whole lines, "" where there are none.

// A table for each collective, a line a size; of each engine the time in microseconds, algorithm
// and bus bandwidth in GB/s and wrong elements, out of place and in place, and the wire bandwidth
// out of place (in place where there is no other). "-": not measured.
std::string collective_tables(const std::vector<Record>& results);

// "all_gather fp32: dma is at least as fast as nccl from 4 MiB on", for each collective_crossover.
std::string crossover_lines(const std::vector<Record>& results);

}  // namespace duet
