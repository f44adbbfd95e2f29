// What this machine knows of the rails' NICs.
#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// Adds the speed of a network interface, as its driver says it (what ethtool shows), where the
// library did not; and, by hwloc, the NUMA node, and how far the NIC is over PCIe from the device
// at the PCI address `bus` ("0000:00:06.0"; "": from none).
void describe_rails(std::vector<RailInfo>& rails, const std::string& bus = "");

}  // namespace duet
