// Which of the rails that are there are used.
#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// `wanted`: names or addresses between commas, in that order; a number, so many of the nearest;
// "all"; "" for the nearest one. Rails on `numa_node` (-1: any) are nearest, then those whose node
// is unknown, and of these those with the shortest way over PCIe; the loopback interface comes last
// and is no part of "all" where there are others. Throws UsageError that lists what is there.
std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node);

}  // namespace duet
