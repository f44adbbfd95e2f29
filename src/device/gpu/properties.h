#pragma once

#include <string>

#include "device/device.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// The properties that are known before anything runs on the device.
DeviceInfo device_info(int ordinal, const gpuDeviceProp_t& properties);

// Nominal bandwidth of the device's memory in GB/s, from its clock and bus width; 0: unknown.
double memory_gb_per_s(int ordinal);

// Highest bandwidth of the device's PCIe interface in one direction, in GB/s; 0: unknown. `bus` is
// its PCI address.
double pcie_gb_per_s(const std::string& bus);

}  // namespace duet::DUET_GPU
