// Power, clocks and temperature as the amdgpu driver reports them in sysfs ("GPU Power/Thermal
// Controls and Monitoring" in the Linux kernel's documentation).
#include <filesystem>
#include <fstream>

#include "device/gpu/vendor_calls.h"

namespace duet::hip {
namespace {

// The number in a sysfs file; 0 where this GPU does not report it.
double number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  double value = 0;
  return in >> value ? value : 0;
}

}  // namespace

std::optional<Telemetry> read_telemetry(const std::string& bus) {
  std::error_code error;
  const std::filesystem::path sensors = "/sys/bus/pci/devices/" + bus + "/hwmon";
  const std::filesystem::directory_iterator entry(sensors, error);
  if (error || entry == std::filesystem::directory_iterator()) return std::nullopt;
  const std::filesystem::path& folder = entry->path();
  Telemetry reading;
  reading.watts = 1e-6 * number_in(folder / "power1_average");
  reading.watts_limit = 1e-6 * number_in(folder / "power1_cap");
  reading.compute_mhz = 1e-6 * number_in(folder / "freq1_input");
  reading.memory_mhz = 1e-6 * number_in(folder / "freq2_input");
  reading.celsius = 1e-3 * number_in(folder / "temp1_input");
  return reading;
}

// Not read from this driver yet.
std::optional<DeviceHealth> read_health(const std::string&) { return std::nullopt; }

// The driver reports power but does not count energy.
std::optional<double> read_joules(const std::string&) { return std::nullopt; }

}  // namespace duet::hip
