// What is known of a device before anything runs on it.
#pragma once

#include <string>

#include "device/device.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

DeviceInfo device_info(int ordinal, const gpuDeviceProp_t& properties);

// GB/s of the device's memory, as its clock and bus width promise; 0: unknown.
double memory_gb_per_s(int ordinal);

// GB/s in one direction of a device's PCIe slot, as the device could at most; 0: unknown.
double pcie_gb_per_s(const std::string& bus);

}  // namespace duet::DUET_GPU
