#include "device/hip/rocm_smi.h"

#include <fmt/format.h>

#include <iterator>

#include "core/error.h"
#include "core/module.h"

namespace duet::hip {
namespace {

// Constants of rocm_smi.h.
constexpr int kClockSystem = 0;         // RSMI_CLK_TYPE_SYS
constexpr int kClockMemory = 4;         // RSMI_CLK_TYPE_MEM
constexpr std::uint32_t kJunction = 1;  // RSMI_TEMP_TYPE_JUNCTION
constexpr int kNow = 0;                 // RSMI_TEMP_CURRENT
constexpr int kDriver = 0;              // RSMI_SW_COMP_DRIVER

}  // namespace

RocmSmi::RocmSmi() {
  const Library library({"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.1",
                         "/opt/rocm/lib/librocm_smi64.so"});
  library.find({"rsmi_init"}, init_);
  library.find({"rsmi_num_monitor_devices"}, device_count_);
  library.find({"rsmi_dev_pci_id_get"}, pci_id_);
  library.find({"rsmi_version_str_get"}, version_);
  library.find({"rsmi_dev_power_get"}, power_);
  library.find({"rsmi_dev_power_cap_get"}, power_cap_);
  library.find({"rsmi_dev_gpu_clk_freq_get"}, clock_);
  library.find({"rsmi_dev_temp_metric_get"}, temperature_);
  library.find({"rsmi_dev_energy_count_get"}, energy_);
  library.find({"rsmi_dev_ecc_enabled_get"}, ecc_blocks_);
  library.find({"rsmi_dev_ecc_count_get"}, ecc_errors_);
  library.find({"rsmi_dev_memory_reserved_pages_get"}, retired_pages_);
  library.find({"rsmi_minmax_bandwidth_get"}, bandwidth_);
  if (init_ == nullptr || device_count_ == nullptr || pci_id_ == nullptr) {
    throw Unavailable("ROCm SMI is too old");
  }
  if (const Status status = init_(0); status != 0) {
    throw Unavailable(fmt::format("rsmi_init() returned {}", status));
  }
  list_devices();
}

void RocmSmi::list_devices() {
  std::uint32_t count = 0;
  if (device_count_(&count) != 0) return;
  for (Index i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    if (pci_id_(i, &id) == 0) add_device(id, i);
  }
}

std::string RocmSmi::driver_version() const {
  char text[256] = "";
  if (version_ == nullptr || version_(kDriver, text, sizeof text) != 0) return "";
  return text;
}

double RocmSmi::megahertz(Index device, int clock) const {
  Frequencies all{};
  if (clock_ == nullptr || clock_(device, clock, &all) != 0) return 0;
  return all.current < std::size(all.hertz) ? 1e-6 * static_cast<double>(all.hertz[all.current])
                                            : 0;
}

std::optional<Telemetry> RocmSmi::telemetry(const std::string& bus) const {
  const std::optional<Index> device = device_at(bus);
  if (!device) return std::nullopt;
  Telemetry reading;
  std::uint64_t microwatts = 0;
  int kind = 0;
  if (power_ != nullptr && power_(*device, &microwatts, &kind) == 0) {
    reading.watts = 1e-6 * static_cast<double>(microwatts);
  }
  if (power_cap_ != nullptr && power_cap_(*device, 0, &microwatts) == 0) {
    reading.watts_limit = 1e-6 * static_cast<double>(microwatts);
  }
  reading.compute_mhz = megahertz(*device, kClockSystem);
  reading.memory_mhz = megahertz(*device, kClockMemory);
  std::int64_t heat = 0;
  if (temperature_ != nullptr && temperature_(*device, kJunction, kNow, &heat) == 0) {
    reading.celsius = 1e-3 * static_cast<double>(heat);
  }
  reading.joules = joules_of(*device);
  return reading;
}

}  // namespace duet::hip
