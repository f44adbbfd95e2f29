// A stand-in for ROCm SMI 7 with four GPUs in another order than the runtime's: its device i is
// the runtime's device 3 - i. Device 2 of the runtime has memory errors, device 3 no counters.
// DUET_STANDIN=no-smi: it does not start.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "fake_gpu/hip/runtime.h"

namespace {

constexpr int kSuccess = 0, kInvalidArguments = 1, kNotSupported = 2, kInitError = 8;
constexpr std::uint32_t kDevices = 4;

struct Frequencies {
  bool has_deep_sleep;
  std::uint32_t count, current;
  std::uint64_t hertz[33];
};

struct Version {
  std::uint32_t major, minor, patch;
  const char* build;
};

struct Errors {
  std::uint64_t correctable, uncorrectable;
};

struct RetiredPage {
  std::uint64_t address, bytes;
  int status;
};

std::uint64_t ordinal_of(std::uint32_t device) { return kDevices - 1 - device; }
bool has_counters(std::uint32_t device) { return ordinal_of(device) != 3; }
bool has_errors(std::uint32_t device) { return ordinal_of(device) == 2; }

// Watts of a device: 400, 410, 420, 430.
std::uint64_t watts_of(std::uint32_t device) { return 400 + 10 * ordinal_of(device); }

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

extern "C" {

int rsmi_init(std::uint64_t) { return fake_gpu::is_set("no-smi") ? kInitError : kSuccess; }

int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = kDevices;
  return kSuccess;
}

int rsmi_version_get(Version* version) {
  *version = {7, 3, 0, "stand-in"};
  return kSuccess;
}

int rsmi_version_str_get(int component, char* text, std::uint32_t bytes) {
  if (component != 0) return kInvalidArguments;
  std::snprintf(text, bytes, "6.8.5");
  return kSuccess;
}

// The addresses that the stand-in for the runtime gives its devices.
int rsmi_dev_pci_id_get(std::uint32_t device, std::uint64_t* id) {
  if (device >= kDevices) return kInvalidArguments;
  *id = std::uint64_t{0xffff} << 32 | ordinal_of(device) << 8;
  return kSuccess;
}

int rsmi_dev_power_get(std::uint32_t device, std::uint64_t* microwatts, int* kind) {
  *microwatts = 1'000'000 * watts_of(device);
  *kind = 1;
  return kSuccess;
}

int rsmi_dev_power_cap_get(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts) {
  if (sensor != 0) return kNotSupported;
  *microwatts = 750'000'000;
  return kSuccess;
}

int rsmi_dev_gpu_clk_freq_get(std::uint32_t, int clock, Frequencies* all) {
  if (clock != 0 && clock != 4) return kNotSupported;
  *all = {};
  all->count = 2;
  all->current = 1;
  all->hertz[1] = clock == 0 ? 2'100'000'000 : 1'300'000'000;
  return kSuccess;
}

int rsmi_dev_temp_metric_get(std::uint32_t, std::uint32_t sensor, int metric, std::int64_t* heat) {
  if (sensor != 1 || metric != 0) return kNotSupported;  // the junction is all that MI300X has
  *heat = 45'000;
  return kSuccess;
}

// In steps of 15.259 uJ, as the driver counts.
int rsmi_dev_energy_count_get(std::uint32_t device, std::uint64_t* count, float* step,
                              std::uint64_t* time) {
  if (!has_counters(device)) return kNotSupported;
  *step = 15.259F;
  *time = nanoseconds();
  const double microjoules = 1e-3 * static_cast<double>(*time * watts_of(device));
  *count = static_cast<std::uint64_t>(microjoules / static_cast<double>(*step));
  return kSuccess;
}

int rsmi_dev_ecc_enabled_get(std::uint32_t device, std::uint64_t* blocks) {
  if (!has_counters(device)) return kNotSupported;
  *blocks = 7;
  return kSuccess;
}

int rsmi_dev_ecc_count_get(std::uint32_t device, std::uint64_t block, Errors* errors) {
  if (block != 1) return kNotSupported;
  *errors = {3, has_errors(device) ? 2u : 0u};
  return kSuccess;
}

int rsmi_dev_memory_reserved_pages_get(std::uint32_t device, std::uint32_t* count,
                                       RetiredPage* pages) {
  if (!has_counters(device)) return kNotSupported;
  const RetiredPage all[] = {{0x1000, 4096, 0}, {0x2000, 4096, 1}};
  const std::uint32_t there = has_errors(device) ? 2 : 0;
  if (pages != nullptr) std::copy_n(all, std::min(*count, there), pages);
  *count = there;
  return kSuccess;
}

int rsmi_minmax_bandwidth_get(std::uint32_t from, std::uint32_t to, std::uint64_t* one,
                              std::uint64_t* all) {
  if (from >= kDevices || to >= kDevices || from == to) return kInvalidArguments;
  *one = *all = 64'000;
  return kSuccess;
}

}  // extern "C"
