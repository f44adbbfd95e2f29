#include "device/hip/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/module.h"

namespace duet::hip {
namespace {

// Constants of rocm_smi.h.
constexpr int kClockSystem = 0;                 // RSMI_CLK_TYPE_SYS
constexpr int kClockMemory = 4;                 // RSMI_CLK_TYPE_MEM
constexpr std::uint32_t kJunction = 1;          // RSMI_TEMP_TYPE_JUNCTION
constexpr int kNow = 0;                         // RSMI_TEMP_CURRENT
constexpr int kDriver = 0;                      // RSMI_SW_COMP_DRIVER
constexpr std::uint64_t kMemoryController = 1;  // RSMI_GPU_BLOCK_UMC
constexpr int kPending = 1;                     // RSMI_MEM_PAGE_STATUS_PENDING
constexpr int kUnreservable = 2;                // RSMI_MEM_PAGE_STATUS_UNRESERVABLE

// A PCI address in the form of the library: the domain in the upper half, the bus from bit 8 on,
// the device from bit 3 on, the function in the lowest three. Partitions of a GPU share it.
std::string address_of(std::uint64_t id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 32, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7);
}

// Leaves the function null where the library does not have it: its values are unknown then.
template <typename Function>
void find(const Library& library, const char* name, Function& function) {
  try {
    function = library.function<Function>(name);
  } catch (const Unavailable&) {
    function = nullptr;
  }
}

}  // namespace

RocmSmi::RocmSmi() {
  const Library library({"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.1",
                         "/opt/rocm/lib/librocm_smi64.so"});
  find(library, "rsmi_init", init_);
  find(library, "rsmi_num_monitor_devices", device_count_);
  find(library, "rsmi_dev_pci_id_get", pci_id_);
  find(library, "rsmi_version_str_get", version_);
  find(library, "rsmi_dev_power_get", power_);
  find(library, "rsmi_dev_power_cap_get", power_cap_);
  find(library, "rsmi_dev_gpu_clk_freq_get", clock_);
  find(library, "rsmi_dev_temp_metric_get", temperature_);
  find(library, "rsmi_dev_energy_count_get", energy_);
  find(library, "rsmi_dev_ecc_enabled_get", ecc_blocks_);
  find(library, "rsmi_dev_ecc_count_get", ecc_errors_);
  find(library, "rsmi_dev_memory_reserved_pages_get", retired_pages_);
  find(library, "rsmi_minmax_bandwidth_get", bandwidth_);
  if (init_ == nullptr || device_count_ == nullptr || pci_id_ == nullptr) {
    throw Unavailable("ROCm SMI is too old");
  }
  if (const Status status = init_(0); status != 0) {
    throw Unavailable(fmt::format("rsmi_init() returned {}", status));
  }
  list_devices();
}

// ROCm SMI is never shut down, because telemetry may be read until the process ends.
const RocmSmi* RocmSmi::instance() {
  static const std::optional<RocmSmi> smi = []() -> std::optional<RocmSmi> {
    try {
      return RocmSmi();
    } catch (const Unavailable&) {
      return std::nullopt;
    }
  }();
  return smi ? &*smi : nullptr;
}

// Of a GPU in partitions the first one has the sensors.
void RocmSmi::list_devices() {
  std::uint32_t count = 0;
  if (device_count_(&count) != 0) return;
  for (Index i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    if (pci_id_(i, &id) == 0) devices_.emplace(address_of(id), i);
  }
}

std::optional<RocmSmi::Index> RocmSmi::index_of(const std::string& bus) const {
  const auto found = devices_.find(bus);
  if (found == devices_.end()) return std::nullopt;
  return found->second;
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

double RocmSmi::joules_of(Index device) const {
  std::uint64_t count = 0, time = 0;
  float step = 0;
  if (energy_ == nullptr || energy_(device, &count, &step, &time) != 0) return 0;
  return 1e-6 * static_cast<double>(count) * static_cast<double>(step);
}

std::optional<Telemetry> RocmSmi::telemetry(const std::string& bus) const {
  const std::optional<Index> device = index_of(bus);
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

std::optional<double> RocmSmi::joules(const std::string& bus) const {
  const std::optional<Index> device = index_of(bus);
  const double joules = device ? joules_of(*device) : 0;
  if (joules > 0) return joules;
  return std::nullopt;
}

std::optional<DeviceHealth> RocmSmi::health(const std::string& bus) const {
  const std::optional<Index> device = index_of(bus);
  if (!device) return std::nullopt;
  DeviceHealth health;
  std::uint64_t blocks = 0;
  if (ecc_blocks_ != nullptr && ecc_blocks_(*device, &blocks) == 0) {
    health.ecc = (blocks & kMemoryController) != 0;
  }
  Errors errors{};
  if (health.ecc.value_or(false) && ecc_errors_ != nullptr &&
      ecc_errors_(*device, kMemoryController, &errors) == 0) {
    health.uncorrected_errors = errors.uncorrectable;
  }
  add_pages(*device, health);
  return health;
}

// Pages of memory with errors, which the driver retires as NVIDIA's GPUs replace rows.
void RocmSmi::add_pages(Index device, DeviceHealth& health) const {
  std::uint32_t count = 0;
  if (retired_pages_ == nullptr || retired_pages_(device, &count, nullptr) != 0) return;
  std::vector<RetiredPage> pages(count);
  if (count > 0 && retired_pages_(device, &count, pages.data()) != 0) return;
  const auto any = [&pages](int status) {
    return std::any_of(pages.begin(), pages.end(),
                       [status](const RetiredPage& page) { return page.status == status; });
  };
  health.remap_pending = any(kPending);
  health.remap_failed = any(kUnreservable);
}

std::optional<XgmiLinks> RocmSmi::links(const std::string& from, const std::string& to) const {
  const std::optional<Index> here = index_of(from), there = index_of(to);
  std::uint64_t one = 0, all = 0;
  if (!here || !there || bandwidth_ == nullptr || bandwidth_(*here, *there, &one, &all) != 0 ||
      one == 0 || all < one) {
    return std::nullopt;
  }
  const double count = static_cast<double>(all) / static_cast<double>(one);
  return XgmiLinks{static_cast<int>(std::lround(count)), 1e-3 * static_cast<double>(all)};
}

}  // namespace duet::hip
