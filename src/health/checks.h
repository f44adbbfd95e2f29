// What is asked of each device beside measurements, and the answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_health.h"
#include "device/machine.h"
#include "results/record.h"

namespace duet {

struct PcieWidth {
  int lanes = 0;
  int most_lanes = 0;  // that both the device and the port above it have
};

// The PCIe link of the device at a PCI address, from `sysfs`, usually "/sys". nullopt if it does
// not state the link: virtual machines may hide it.
std::optional<PcieWidth> pcie_width(const std::string& sysfs, const std::string& bus);

enum class Status { ok, failed, unknown };

struct Check {
  std::string name;    // "ecc"
  std::string device;  // "cuda:0"
  Status status = Status::unknown;
  std::string text;  // "18 of 18 NVLinks up"; unknown: why
};

// Memory errors, and rows that are replaced or cannot be.
Check ecc_check(const std::string& device, const std::optional<DeviceHealth>& health);

// Direct links to other devices. `spec_links` is the number that the device spec states, 0 if it
// states none. `alone`: the machine has no other device, so that all links may be down.
Check links_check(const std::string& device, const std::optional<DeviceHealth>& health,
                  int spec_links, bool alone);

Check pcie_check(const std::string& device, const std::optional<PcieWidth>& width);

// Limits of the clocks that a device in order does not have: heat, the power supply, the hardware's
// slowdown. `seen` are the texts of Telemetry::throttle; nullopt: the driver does not tell.
Check clocks_check(const std::string& device, const std::optional<std::vector<std::string>>& seen);

// All checks of all devices of a machine. `records` are results that were measured on it.
std::vector<Check> machine_checks(Machine& machine, const std::vector<Record>& records);

}  // namespace duet
