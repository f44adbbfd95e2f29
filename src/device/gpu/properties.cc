#include "device/gpu/properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "device/gpu/vendor_calls.h"

namespace duet::DUET_GPU {
namespace {

int attribute(int ordinal, decltype(gpuDevAttrClockRate) which) {
  int value = 0;
  DUET_GPU_CHECK(GPU(DeviceGetAttribute)(&value, which, ordinal));
  return value;
}

std::string pci_address(int ordinal) {
  char text[32] = "";
  DUET_GPU_CHECK(GPU(DeviceGetPCIBusId)(text, sizeof text, ordinal));
  std::string bus = text;  // converted to lower case, as in sysfs
  std::transform(bus.begin(), bus.end(), bus.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return bus;
}

// The first number in a sysfs file of the device; `otherwise` where there is none.
double sysfs_number(const std::string& bus, const char* file, double otherwise) {
  std::ifstream in("/sys/bus/pci/devices/" + bus + "/" + file);
  double value = 0;
  return in >> value ? value : otherwise;
}

int priorities_of_current_device() {
  int least = 0, greatest = 0;
  DUET_GPU_CHECK(GPU(DeviceGetStreamPriorityRange)(&least, &greatest));
  return least - greatest + 1;
}

}  // namespace

DeviceInfo device_info(int ordinal, const gpuDeviceProp_t& properties) {
  DeviceInfo info;
  info.name = fmt::format("{}:{}", DUET_GPU_NAME, ordinal);
  info.kind = DUET_GPU_NAME;
  info.ordinal = ordinal;
  info.model = properties.name;
  info.bus = pci_address(ordinal);
  info.numa_node = static_cast<int>(sysfs_number(info.bus, "numa_node", -1));
  info.compute_units = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  info.cache_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  info.priorities = priorities_of_current_device();
  info.unit_grain = unit_grain(ordinal);
  int runtime = 0;
  DUET_GPU_CHECK(GPU(RuntimeGetVersion)(&runtime));
  info.details["runtime version"] = std::to_string(runtime);
  info.details["maximum compute clock"] =
      fmt::format("{} MHz", attribute(ordinal, gpuDevAttrClockRate) / 1000);
  info.details["maximum memory clock"] =
      fmt::format("{} MHz", attribute(ordinal, gpuDevAttrMemoryClockRate) / 1000);
  info.details["ECC"] = properties.ECCEnabled != 0 ? "on" : "off";
  describe(ordinal, properties, info);
  return info;
}

// Two transfers per clock (DDR): NVIDIA and AMD state memory clocks in this way.
double memory_gb_per_s(int ordinal) {
  const double clock_khz = attribute(ordinal, gpuDevAttrMemoryClockRate);
  const double bus_bytes = attribute(ordinal, gpuDevAttrMemoryBusWidth) / 8.0;
  return 2 * clock_khz * 1e3 * bus_bytes / 1e9;
}

// The Linux kernel states the speed as "32.0 GT/s PCIe". A lane carries one bit per transfer. The
// encoding is 8b/10b up to 5 GT/s and 128b/130b up to 32 GT/s (PCI Express Base Specification 5.0).
// The overhead of flits at 64 GT/s is ignored.
double pcie_gb_per_s(const std::string& bus) {
  const double transfers = sysfs_number(bus, "max_link_speed", 0);
  const double lanes = sysfs_number(bus, "max_link_width", 0);
  const double coding = transfers <= 5 ? 8.0 / 10 : transfers <= 32 ? 128.0 / 130 : 1;
  return transfers * lanes * coding / 8;
}

}  // namespace duet::DUET_GPU
