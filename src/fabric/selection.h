#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// The rails to use. `wanted`: names or addresses separated by commas, in that order; a number, for
// as many of the nearest rails; "all"; "" for the nearest. Rails on `numa_node` (-1: any) are
// nearest, then those of unknown node, and among these the ones with the fewest PCIe hops. The
// loopback interface is last, and "all" leaves it out where there are other rails. Throws
// UsageError that lists the available rails.
std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node);

}  // namespace duet
