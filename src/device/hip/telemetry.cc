// Telemetry by ROCm SMI; without that library power, clocks and temperature as the amdgpu driver
// reports them in sysfs ("GPU Power/Thermal Controls and Monitoring" in the Linux kernel's
// documentation).
#include <filesystem>
#include <fstream>

#include "device/gpu/vendor_calls.h"
#include "device/hip/smi.h"

namespace duet::hip {
namespace {

// The number in the first of these files that this GPU has; 0 where it has none.
double number_in(const std::filesystem::path& folder, std::initializer_list<const char*> files) {
  for (const char* file : files) {
    std::ifstream in(folder / file);
    double value = 0;
    if (in >> value) return value;
  }
  return 0;
}

// Some GPUs report an average power, others that of now. temp2 is the junction's, temp1 the edge's,
// which not all have.
std::optional<Telemetry> from_sysfs(const std::string& bus) {
  std::error_code error;
  const std::filesystem::path sensors = "/sys/bus/pci/devices/" + bus + "/hwmon";
  const std::filesystem::directory_iterator entry(sensors, error);
  if (error || entry == std::filesystem::directory_iterator()) return std::nullopt;
  const std::filesystem::path& folder = entry->path();
  Telemetry reading;
  reading.watts = 1e-6 * number_in(folder, {"power1_average", "power1_input"});
  reading.watts_limit = 1e-6 * number_in(folder, {"power1_cap"});
  reading.compute_mhz = 1e-6 * number_in(folder, {"freq1_input"});
  reading.memory_mhz = 1e-6 * number_in(folder, {"freq2_input"});
  reading.celsius = 1e-3 * number_in(folder, {"temp2_input", "temp1_input"});
  return reading;
}

}  // namespace

std::optional<Telemetry> read_telemetry(const std::string& bus) {
  const auto reading = smi() != nullptr ? smi()->telemetry(bus) : std::nullopt;
  return reading ? reading : from_sysfs(bus);
}

std::optional<DeviceHealth> read_health(const std::string& bus) {
  return smi() != nullptr ? smi()->health(bus) : std::nullopt;
}

std::vector<std::uint64_t> read_new_xids(const std::string&) { return {}; }

// The driver counts energy for the library only.
std::optional<double> read_joules(const std::string& bus) {
  return smi() != nullptr ? smi()->joules(bus) : std::nullopt;
}

}  // namespace duet::hip
