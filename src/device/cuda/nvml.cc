#include "device/cuda/nvml.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/error.h"
#include "core/module.h"

namespace duet::cuda {
namespace {

// Constants of nvml.h.
constexpr int kClockSm = 1;                   // NVML_CLOCK_SM
constexpr int kClockMemory = 2;               // NVML_CLOCK_MEM
constexpr int kEccCorrected = 0;              // NVML_MEMORY_ERROR_TYPE_CORRECTED
constexpr int kEccUncorrected = 1;            // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr int kSinceDriverLoad = 0;           // NVML_VOLATILE_ECC
constexpr int kTemperatureGpu = 0;            // NVML_TEMPERATURE_GPU
constexpr int kFeatureEnabled = 1;            // NVML_FEATURE_ENABLED
constexpr int kLinkEndGpu = 0;                // NVML_NVLINK_DEVICE_TYPE_GPU
constexpr unsigned kMostNvLinks = 18;         // NVML_NVLINK_MAX_LINKS
constexpr unsigned long long kXidEvents = 8;  // nvmlEventTypeXidCriticalError

// nvmlNvLinkErrorCounter_t
constexpr int kLinkReplays = 0, kLinkRecoveries = 1, kLinkFlitErrors = 2, kLinkDataErrors = 3;

struct Reason {
  unsigned long long bit;
  const char* words;
};

// The bits nvmlClocksEventReason* with their meaning. Bit 0 (idle GPU) is left out, because it does
// not mean that the clocks are limited.
constexpr Reason kReasons[] = {
    {0x2, "application clocks"},    {0x4, "power cap"},
    {0x8, "hardware slowdown"},     {0x10, "sync boost"},
    {0x20, "thermal, by software"}, {0x40, "thermal, by hardware"},
    {0x80, "power brake"},          {0x100, "display clocks"},
};

std::string reasons_in_words(unsigned long long bits) {
  std::string words;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(reason.words);
  }
  return words;
}

// The value that `function` returns; 0 where this GPU or driver does not support it.
template <typename Value, typename Function, typename... Arguments>
double value_of(Function function, Arguments... arguments) {
  Value value = 0;
  return function != nullptr && function(arguments..., &value) == 0 ? static_cast<double>(value)
                                                                    : 0;
}

}  // namespace

Nvml::Nvml() {
  const Library library({"libnvidia-ml.so.1"});
  library.find({"nvmlInit_v2"}, init_);
  library.find({"nvmlSystemGetDriverVersion"}, driver_version_);
  library.find({"nvmlDeviceGetHandleByPciBusId_v2"}, handle_by_bus_);
  library.find({"nvmlDeviceGetPowerUsage"}, power_);
  library.find({"nvmlDeviceGetEnforcedPowerLimit"}, power_limit_);
  library.find({"nvmlDeviceGetClockInfo"}, clock_);
  library.find({"nvmlDeviceGetTemperature"}, temperature_);
  library.find({"nvmlDeviceGetTotalEnergyConsumption"}, energy_);
  library.find(
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
      clock_reasons_);
  library.find({"nvmlDeviceGetEccMode"}, ecc_mode_);
  library.find({"nvmlDeviceGetTotalEccErrors"}, ecc_errors_);
  library.find({"nvmlDeviceGetRemappedRows"}, remapped_rows_);
  library.find({"nvmlDeviceGetPcieReplayCounter"}, pcie_replays_);
  library.find({"nvmlDeviceGetNvLinkErrorCounter"}, link_errors_);
  library.find({"nvmlEventSetCreate"}, make_events_);
  library.find({"nvmlDeviceRegisterEvents"}, register_events_);
  library.find({"nvmlEventSetWait_v2"}, next_event_);
  library.find({"nvmlEventSetFree"}, free_events_);
  library.find({"nvmlDeviceGetNvLinkState"}, link_state_);
  library.find({"nvmlDeviceGetNvLinkRemotePciInfo_v2"}, link_end_);
  library.find({"nvmlDeviceGetNvLinkRemoteDeviceType"}, link_end_kind_);
  if (init_ == nullptr || handle_by_bus_ == nullptr) throw Unavailable("NVML is too old");
  if (const Result result = init_(); result != 0) {
    throw Unavailable(fmt::format("nvmlInit_v2() returned {}", result));
  }
}

// NVML is never shut down, because telemetry may be read until the process ends.
const Nvml* Nvml::instance() {
  static const std::optional<Nvml> nvml = []() -> std::optional<Nvml> {
    try {
      return Nvml();
    } catch (const Unavailable&) {
      return std::nullopt;
    }
  }();
  return nvml ? &*nvml : nullptr;
}

std::optional<Nvml::Handle> Nvml::handle_of(const std::string& bus) const {
  Handle handle = nullptr;
  if (handle_by_bus_(bus.c_str(), &handle) != 0) return std::nullopt;
  return handle;
}

std::string Nvml::driver_version() const {
  char text[81] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
  if (driver_version_ == nullptr || driver_version_(text, 80) != 0) return "";
  return text;
}

std::optional<Telemetry> Nvml::telemetry(const std::string& bus) const {
  const std::optional<Handle> device = handle_of(bus);
  if (!device) return std::nullopt;
  Telemetry reading;
  reading.watts = 1e-3 * value_of<unsigned>(power_, *device);
  reading.watts_limit = 1e-3 * value_of<unsigned>(power_limit_, *device);
  reading.compute_mhz = value_of<unsigned>(clock_, *device, kClockSm);
  reading.memory_mhz = value_of<unsigned>(clock_, *device, kClockMemory);
  reading.celsius = value_of<unsigned>(temperature_, *device, kTemperatureGpu);
  reading.joules = 1e-3 * value_of<unsigned long long>(energy_, *device);
  unsigned long long bits = 0;
  if (clock_reasons_ != nullptr && clock_reasons_(*device, &bits) == 0) {
    reading.throttle = reasons_in_words(bits);
  }
  return reading;
}

std::optional<double> Nvml::joules(const std::string& bus) const {
  const std::optional<Handle> device = handle_of(bus);
  if (!device) return std::nullopt;
  const double joules = 1e-3 * value_of<unsigned long long>(energy_, *device);
  if (joules > 0) return joules;
  return std::nullopt;
}

std::optional<DeviceHealth> Nvml::health(const std::string& bus) const {
  const std::optional<Handle> device = handle_of(bus);
  if (!device) return std::nullopt;
  DeviceHealth health;
  int current = 0, pending = 0;
  if (ecc_mode_ != nullptr && ecc_mode_(*device, &current, &pending) == 0) {
    health.ecc = current == kFeatureEnabled;
  }
  unsigned long long errors = 0;
  if (health.ecc.value_or(false) && ecc_errors_ != nullptr &&
      ecc_errors_(*device, kEccUncorrected, kSinceDriverLoad, &errors) == 0) {
    health.uncorrected_errors = errors;
  }
  unsigned corrected = 0, uncorrected = 0, waiting = 0, failed = 0;
  if (remapped_rows_ != nullptr &&
      remapped_rows_(*device, &corrected, &uncorrected, &waiting, &failed) == 0) {
    health.remap_pending = waiting != 0;
    health.remap_failed = failed != 0;
  }
  unsigned long long bits = 0;
  health.tells_limits = clock_reasons_ != nullptr && clock_reasons_(*device, &bits) == 0;
  add_links(*device, health);
  add_counters(*device, health);
  return health;
}

void Nvml::add_counters(Handle device, DeviceHealth& health) const {
  unsigned long long errors = 0;
  if (health.ecc.value_or(false) && ecc_errors_ != nullptr &&
      ecc_errors_(device, kEccCorrected, kSinceDriverLoad, &errors) == 0) {
    health.corrected_errors = errors;
  }
  unsigned replays = 0;
  if (pcie_replays_ != nullptr && pcie_replays_(device, &replays) == 0) {
    health.pcie_replays = replays;
  }
  health.link_replays = of_all_links(device, kLinkReplays);
  health.link_recoveries = of_all_links(device, kLinkRecoveries);
  const auto flits = of_all_links(device, kLinkFlitErrors);
  const auto data = of_all_links(device, kLinkDataErrors);
  if (flits || data) health.link_errors = flits.value_or(0) + data.value_or(0);
}

// nullopt where no link has the counter.
std::optional<std::uint64_t> Nvml::of_all_links(Handle device, int counter) const {
  std::optional<std::uint64_t> sum;
  for (unsigned link = 0; link < kMostNvLinks; ++link) {
    unsigned long long count = 0;
    if (link_errors_ == nullptr || link_errors_(device, link, counter, &count) != 0) continue;
    sum = sum.value_or(0) + count;
  }
  return sum;
}

// A new set of the device's XIDs; nullptr where the driver refuses.
Nvml::EventSet Nvml::listen(Handle device) const {
  EventSet set = nullptr;
  if (make_events_ == nullptr || register_events_ == nullptr || next_event_ == nullptr ||
      free_events_ == nullptr || make_events_(&set) != 0) {
    return nullptr;
  }
  if (register_events_(device, kXidEvents, set) == 0) return set;
  free_events_(set);
  return nullptr;
}

// The set of a device's events, made once and, as NVML is never shut down, never freed.
Nvml::EventSet Nvml::events_of(const std::string& bus) const {
  static std::mutex mutex;
  static auto& sets = *new std::map<std::string, EventSet>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [found, fresh] = sets.emplace(bus, nullptr);
  if (!fresh) return found->second;
  if (const std::optional<Handle> device = handle_of(bus)) found->second = listen(*device);
  return found->second;
}

std::vector<std::uint64_t> Nvml::new_xids(const std::string& bus) const {
  constexpr std::size_t kMost = 64;  // at a time, so that a flood of them ends
  std::vector<std::uint64_t> xids;
  const EventSet set = events_of(bus);
  EventData event{};
  while (set != nullptr && xids.size() < kMost && next_event_(set, &event, 0) == 0) {
    if (event.type == kXidEvents) xids.push_back(event.data);
  }
  return xids;
}

// Links that the GPU does not have give an error, and count as neither.
void Nvml::add_links(Handle device, DeviceHealth& health) const {
  int up = 0, down = 0;
  for (unsigned link = 0; link < kMostNvLinks; ++link) {
    int state = 0;
    if (link_state_ == nullptr || link_state_(device, link, &state) != 0) continue;
    ++(state == kFeatureEnabled ? up : down);
  }
  if (up + down == 0) return;
  health.links_up = up;
  health.links_down = down;
}

std::vector<NvLinkEnd> Nvml::active_links(const std::string& bus) const {
  std::vector<NvLinkEnd> links;
  const std::optional<Handle> device = handle_of(bus);
  if (!device || link_state_ == nullptr) return links;
  for (unsigned link = 0; link < kMostNvLinks; ++link) {
    int state = 0;
    if (link_state_(*device, link, &state) != 0 || state != kFeatureEnabled) continue;
    NvLinkEnd end;
    int kind = -1;
    if (link_end_kind_ != nullptr && link_end_kind_(*device, link, &kind) == 0) {
      end.is_gpu = kind == kLinkEndGpu;
    }
    PciInfo pci{};
    if (link_end_ != nullptr && link_end_(*device, link, &pci) == 0) {
      end.domain = static_cast<int>(pci.domain);
      end.bus = static_cast<int>(pci.bus);
      end.device = static_cast<int>(pci.device);
    }
    links.push_back(end);
  }
  return links;
}

}  // namespace duet::cuda
