#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// Completes RailInfo: the speed of a network interface by its driver (what ethtool shows) where the
// library gives none; by hwloc the NUMA node, and the PCIe hops between the NIC and the device at
// the PCI address `bus` ("0000:00:06.0"; "": no device).
void describe_rails(std::vector<RailInfo>& rails, const std::string& bus = "");

// The rails to use. `wanted`: names or addresses separated by commas, in that order; a number, for
// as many of the nearest rails; "all"; "" for the nearest. Rails on `numa_node` (-1: any) are
// nearest, then those of unknown node, and among these the ones with the fewest PCIe hops. The
// loopback interface is last, and "all" leaves it out where there are other rails. Throws
// UsageError that lists the available rails.
std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node);

// Of a node's rails the ones of its local rank `local` of `locals`: as many for each rank, in the
// order of the list, disjoint; where there are fewer rails than ranks, one each, in turns. Rail i
// of the result is then the same on nodes whose lists are alike. Throws BadArgument for an empty
// list.
std::vector<RailInfo> share_rails(const std::vector<RailInfo>& rails, int local, int locals);

}  // namespace duet
