// Which of the rails that are there are used, and how fast their links are.
#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// `wanted`: names or addresses between commas, in that order; a number, so many of the nearest;
// "all"; "" for the nearest one. Rails on `numa_node` (-1: any) are nearest, then those whose node
// is unknown; the loopback interface comes last and is no part of "all" where there are others.
// Throws UsageError that lists what is there.
std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node);

// Adds what this machine knows of the rails' NICs: the speed of a network interface, as its driver
// says it (what ethtool shows), where the library did not; and the NUMA node, by hwloc.
void describe_rails(std::vector<RailInfo>& rails);

}  // namespace duet
