#pragma once

#include <optional>
#include <string>

namespace duet {

struct PcieWidth {
  int lanes = 0;
  int most_lanes = 0;  // that both the device and the port above it have
};

// The PCIe link of the device at a PCI address, from `sysfs`, usually "/sys". nullopt if it does
// not state the link: virtual machines may hide it.
std::optional<PcieWidth> pcie_width(const std::string& sysfs, const std::string& bus);

}  // namespace duet
