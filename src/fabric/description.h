#pragma once

#include <string>
#include <vector>

#include "fabric/rail.h"

namespace duet {

// Completes RailInfo: the speed of a network interface by its driver (what ethtool shows) where the
// library gives none; by hwloc the NUMA node, and the PCIe hops between the NIC and the device at
// the PCI address `bus` ("0000:00:06.0"; "": no device).
void describe_rails(std::vector<RailInfo>& rails, const std::string& bus = "");

}  // namespace duet
