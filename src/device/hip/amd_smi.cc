#include "device/hip/amd_smi.h"

#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/module.h"

namespace duet::hip {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kUnknown16 = 0xFFFF;
constexpr double kLeastShare = 0.01;  // of the steps: AMD's tools call less "not active"

}  // namespace

AmdSmi::AmdSmi() {
  const Library library({"libamd_smi.so.27", "libamd_smi.so.26", "libamd_smi.so.25",
                         "libamd_smi.so.24", "/opt/rocm/lib/libamd_smi.so"});
  library.find({"amdsmi_init"}, init_);
  library.find({"amdsmi_get_lib_version"}, lib_version_);
  library.find({"amdsmi_get_socket_handles"}, sockets_);
  library.find({"amdsmi_get_processor_handles"}, processors_);
  library.find({"amdsmi_get_gpu_bdf_id"}, pci_id_);
  library.find({"amdsmi_get_gpu_driver_info"}, driver_);
  library.find({"amdsmi_get_gpu_metrics_info"}, metrics_);
  library.find({"amdsmi_get_power_cap_info"}, power_cap_);
  library.find({"amdsmi_get_clock_info"}, clock_);
  library.find({"amdsmi_get_temp_metric"}, temperature_);
  library.find({"amdsmi_get_energy_count"}, energy_);
  library.find({"amdsmi_get_gpu_ecc_enabled"}, ecc_blocks_);
  library.find({"amdsmi_get_gpu_ecc_count"}, ecc_errors_);
  library.find({"amdsmi_get_gpu_memory_reserved_pages"}, retired_pages_);
  library.find({"amdsmi_get_minmax_bandwidth_between_processors"}, bandwidth_);
  library.find({"amdsmi_get_gpu_xgmi_link_status"}, link_status_);
  if (init_ == nullptr || lib_version_ == nullptr || sockets_ == nullptr ||
      processors_ == nullptr || pci_id_ == nullptr) {
    throw Unavailable("AMD SMI is too old");
  }
  amd_smi::Version version{};
  if (lib_version_(&version) == 0) number_ = version.number;
  if (number_ < amd_smi::kOldest || number_ > amd_smi::kNewest) {
    throw Unavailable(fmt::format("AMD SMI {} is not one of {} to {}", number_, amd_smi::kOldest,
                                  amd_smi::kNewest));
  }
  if (const Status status = init_(amd_smi::kGpus); status != 0) {
    throw Unavailable(fmt::format("amdsmi_init() returned {}", status));
  }
  list_devices();
}

void AmdSmi::list_devices() {
  std::uint32_t count = 0;
  if (sockets_(&count, nullptr) != 0) return;
  std::vector<amd_smi::Socket> sockets(count);
  if (sockets_(&count, sockets.data()) != 0) return;
  for (amd_smi::Socket socket : sockets) {
    if (processors_(socket, &count, nullptr) != 0) continue;
    std::vector<Processor> processors(count);
    if (processors_(socket, &count, processors.data()) != 0) continue;
    for (Processor device : processors) {
      std::uint64_t id = 0;
      if (pci_id_(device, &id) == 0) add_device(id, device);
    }
  }
  for (const auto& [bus, device] : devices_) {
    if (const auto now = sensors(device)) last_[device] = now->steps;
  }
}

std::string AmdSmi::driver_version() const {
  amd_smi::Driver driver{};
  if (driver_ == nullptr || devices_.empty()) return "";
  if (driver_(devices_.begin()->second, &driver) != 0) return "";
  return {driver.version, strnlen(driver.version, sizeof driver.version)};
}

double AmdSmi::megahertz(Processor device, int clock) const {
  amd_smi::Clock reading{};
  if (clock_ == nullptr || clock_(device, clock, &reading) != 0) return 0;
  return reading.megahertz < kUnknown16 ? reading.megahertz : 0;
}

// The MI300's generation has a power of now, older ones have an average.
template <typename Counter>
std::optional<AmdSmi::Sensors> AmdSmi::read_metrics(Processor device) const {
  amd_smi::Metrics<Counter> metrics;
  std::memset(&metrics, 0xFF, sizeof metrics);
  if (metrics_(device, &metrics) != 0) return std::nullopt;
  Sensors sensors;
  const std::uint32_t watts = metrics.watts != kUnknown16 ? metrics.watts : metrics.average_watts;
  sensors.watts = watts != kUnknown16 ? watts : 0;
  sensors.steps = {metrics.ticks,  metrics.hot,        metrics.power,
                   metrics.socket, metrics.regulators, metrics.memory};
  return sensors;
}

std::optional<AmdSmi::Sensors> AmdSmi::sensors(Processor device) const {
  if (metrics_ == nullptr) return std::nullopt;
  return number_ >= amd_smi::kWideCounters ? read_metrics<std::uint64_t>(device)
                                           : read_metrics<std::uint32_t>(device);
}

// Not by amdsmi_get_violation_status(), which sleeps for 100 ms between two readings of the same
// counters: the GPU would idle for that time in the middle of a measurement.
std::string AmdSmi::limits_between(const Steps& before, const Steps& now) {
  struct Limit {
    std::uint64_t Steps::*steps;
    const char* words;
  };
  static constexpr Limit kLimits[] = {
      {&Steps::power, "power cap"},
      {&Steps::hot, "hardware slowdown (PROCHOT)"},
      {&Steps::socket, "thermal, of the socket"},
      {&Steps::regulators, "thermal, of the voltage regulators"},
      {&Steps::memory, "thermal, of the memory"},
  };
  const double all = static_cast<double>(now.all - before.all);
  std::string words;
  for (const Limit& limit : kLimits) {
    const std::uint64_t from = before.*limit.steps, to = now.*limit.steps;
    if (to == kUnknown || to <= from) continue;
    if (static_cast<double>(to - from) < kLeastShare * all) continue;
    words += (words.empty() ? "" : ", ") + std::string(limit.words);
  }
  return words;
}

std::string AmdSmi::limits_since_last(Processor device, const Steps& now) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto last = last_.find(device);
  if (last == last_.end() || now.all == kUnknown || now.all <= last->second.all) {
    return "";
  }
  const std::string limits = limits_between(last->second, now);
  last->second = now;
  return limits;
}

std::optional<Telemetry> AmdSmi::telemetry(const std::string& bus) const {
  const std::optional<Processor> device = device_at(bus);
  if (!device) return std::nullopt;
  Telemetry reading;
  if (const auto now = sensors(*device)) {
    reading.watts = now->watts;
    reading.throttle = limits_since_last(*device, now->steps);
  }
  amd_smi::PowerCap cap{};
  if (power_cap_ != nullptr && power_cap_(*device, 0, &cap) == 0) {
    reading.watts_limit = 1e-6 * static_cast<double>(cap.microwatts);
  }
  reading.compute_mhz = megahertz(*device, amd_smi::kClockSystem);
  reading.memory_mhz = megahertz(*device, amd_smi::kClockMemory);
  std::int64_t celsius = 0;
  if (temperature_ != nullptr &&
      temperature_(*device, amd_smi::kJunction, amd_smi::kNow, &celsius) == 0) {
    reading.celsius = static_cast<double>(celsius);
  }
  reading.joules = joules_of(*device);
  return reading;
}

// The library lists no more links than the node has GPUs. Of a list that is cut off so only a link
// that is down says something.
std::optional<DeviceHealth> AmdSmi::health(const std::string& bus) const {
  std::optional<DeviceHealth> health = SmiCalls::health(bus);
  if (!health) return health;
  const Processor device = *device_at(bus);
  const auto now = sensors(device);
  health->tells_limits = now && now->steps.all != kUnknown;
  amd_smi::LinkStatus links{};
  if (link_status_ == nullptr || link_status_(device, &links) != 0) return health;
  int up = 0, down = 0;
  for (std::uint32_t link = 0; link < std::min(links.count, amd_smi::kMostLinks); ++link) {
    if (links.status[link] == amd_smi::kUp) ++up;
    if (links.status[link] == amd_smi::kDown) ++down;
  }
  const bool complete = links.count >= amd_smi::kMostLinks && up > 0;
  if (complete || down > 0) {
    health->links_up = up;
    health->links_down = down;
  }
  return health;
}

}  // namespace duet::hip
