// A stand-in for AMD SMI on a node of eight GPUs, of which the runtime has the first four: its GPU
// i is the runtime's device 7 - i. The power cap limits device 1, heat of its memory device 2,
// which also has memory errors and a link that is down. Device 3 has no counters.
//
// DUET_STANDIN: amd-smi=N, the library's version (26); no-amd-smi or no-smi: it does not start.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device/hip/amd_smi_abi.h"
#include "device/hip/smi_calls.h"
#include "fake_gpu/hip/runtime.h"

namespace abi = duet::hip::amd_smi;
using duet::hip::SmiErrors;
using duet::hip::SmiRetiredPage;

namespace {

constexpr int kSuccess = 0, kInvalid = 1, kNotSupported = 2, kInitError = 18;
constexpr std::uint32_t kDevices = 8;
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

struct Gpu {
  std::uint64_t ordinal;
  std::atomic<std::uint64_t> steps{0};
};

std::array<Gpu, kDevices>& gpus() {
  static std::array<Gpu, kDevices> all{{{7}, {6}, {5}, {4}, {3}, {2}, {1}, {0}}};
  return all;
}

Gpu& gpu_of(void* device) { return *static_cast<Gpu*>(device); }
bool has_counters(const Gpu& gpu) { return gpu.ordinal != 3; }
bool has_errors(const Gpu& gpu) { return gpu.ordinal == 2; }

// Watts of a device: 400, 410, 420, ...
std::uint64_t watts_of(const Gpu& gpu) { return 400 + 10 * gpu.ordinal; }

std::uint32_t number() {
  const std::string text = fake_gpu::setting("amd-smi=");
  return text.empty()
             ? 26
             : static_cast<std::uint32_t>(std::atoi(text.c_str() + std::strlen("amd-smi=")));
}

// Each reading comes a thousand steps after the last one. Version 24 is the one of ROCm 6.2, whose
// table ends before the steps.
template <typename Counter>
void write_metrics(Gpu& gpu, void* out) {
  using Metrics = abi::Metrics<Counter>;
  Metrics metrics;
  std::memset(&metrics, 0xFF, sizeof metrics);
  metrics.watts = static_cast<std::uint16_t>(watts_of(gpu));
  metrics.ticks = gpu.steps += 1000;
  metrics.hot = 0;
  metrics.power = metrics.ticks / (gpu.ordinal == 1 ? 2 : 200);  // 0.5% counts as none
  metrics.memory = gpu.ordinal == 2 ? metrics.ticks / 4 : 0;
  metrics.socket = metrics.regulators = 0;
  const std::size_t bytes =
      number() == 24 ? offsetof(Metrics, ticks) : offsetof(Metrics, memory) + sizeof metrics.memory;
  std::memcpy(out, &metrics, bytes);
}

}  // namespace

extern "C" {

int amdsmi_init(std::uint64_t flags) {
  if (flags != abi::kGpus) return kInvalid;
  return fake_gpu::is_set("no-smi") || fake_gpu::is_set("no-amd-smi") ? kInitError : kSuccess;
}

int amdsmi_get_lib_version(abi::Version* version) {
  *version = {number(), 1, 0, 0, "stand-in"};
  return kSuccess;
}

int amdsmi_get_socket_handles(std::uint32_t* count, abi::Socket* sockets) {
  for (std::uint32_t i = 0; sockets != nullptr && i < std::min(*count, kDevices); ++i) {
    sockets[i] = &gpus()[i];
  }
  *count = kDevices;
  return kSuccess;
}

int amdsmi_get_processor_handles(abi::Socket socket, std::uint32_t* count,
                                 abi::Processor* processors) {
  if (processors != nullptr && *count > 0) *processors = socket;
  *count = 1;
  return kSuccess;
}

// The addresses that the stand-in for the runtime gives its devices.
int amdsmi_get_gpu_bdf_id(abi::Processor device, std::uint64_t* id) {
  *id = std::uint64_t{0xffff} << 32 | gpu_of(device).ordinal << 8;
  return kSuccess;
}

int amdsmi_get_gpu_driver_info(abi::Processor, abi::Driver* driver) {
  std::snprintf(driver->version, sizeof driver->version, "6.12.12");
  return kSuccess;
}

int amdsmi_get_gpu_metrics_info(abi::Processor device, void* metrics) {
  Gpu& gpu = gpu_of(device);
  if (!has_counters(gpu)) return kNotSupported;
  if (number() >= abi::kWideCounters) {
    write_metrics<std::uint64_t>(gpu, metrics);
  } else {
    write_metrics<std::uint32_t>(gpu, metrics);
  }
  return kSuccess;
}

int amdsmi_get_power_cap_info(abi::Processor, std::uint32_t sensor, abi::PowerCap* cap) {
  if (sensor != 0) return kNotSupported;
  *cap = {750'000'000, {}};
  return kSuccess;
}

int amdsmi_get_clock_info(abi::Processor device, int clock, abi::Clock* reading) {
  if (clock != abi::kClockSystem && clock != abi::kClockMemory) return kNotSupported;
  *reading = {};
  reading->megahertz = clock == abi::kClockSystem ? 2'100 : 1'300;
  if (!has_counters(gpu_of(device))) reading->megahertz = 0xFFFFFFFF;
  return kSuccess;
}

int amdsmi_get_temp_metric(abi::Processor, int sensor, int metric, std::int64_t* celsius) {
  if (sensor != abi::kJunction || metric != abi::kNow) return kNotSupported;
  *celsius = 45;
  return kSuccess;
}

// In steps of 15.259 uJ, as the driver counts.
int amdsmi_get_energy_count(abi::Processor device, std::uint64_t* count, float* step,
                            std::uint64_t* time) {
  if (!has_counters(gpu_of(device))) return kNotSupported;
  *step = 15.259F;
  *time = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const double microjoules = 1e-3 * static_cast<double>(*time * watts_of(gpu_of(device)));
  *count = static_cast<std::uint64_t>(microjoules / static_cast<double>(*step));
  return kSuccess;
}

int amdsmi_get_gpu_ecc_enabled(abi::Processor device, std::uint64_t* blocks) {
  if (!has_counters(gpu_of(device))) return kNotSupported;
  *blocks = 7;
  return kSuccess;
}

int amdsmi_get_gpu_ecc_count(abi::Processor device, std::uint64_t block, SmiErrors* errors) {
  if (block != 1) return kNotSupported;
  *errors = {3, has_errors(gpu_of(device)) ? 2u : 0u, {}};
  return kSuccess;
}

int amdsmi_get_gpu_memory_reserved_pages(abi::Processor device, std::uint32_t* count,
                                         SmiRetiredPage* pages) {
  if (!has_counters(gpu_of(device))) return kNotSupported;
  const SmiRetiredPage all[] = {{0x1000, 4096, 0}, {0x2000, 4096, 1}};
  const std::uint32_t there = has_errors(gpu_of(device)) ? 2 : 0;
  if (pages != nullptr) std::copy_n(all, std::min(*count, there), pages);
  *count = there;
  return kSuccess;
}

int amdsmi_get_minmax_bandwidth_between_processors(abi::Processor from, abi::Processor to,
                                                   std::uint64_t* one, std::uint64_t* all) {
  if (from == to) return kInvalid;
  *one = *all = 64'000;
  return kSuccess;
}

// One of the eight places has no link. In version 25 the list is cut off.
int amdsmi_get_gpu_xgmi_link_status(abi::Processor device, abi::LinkStatus* links) {
  if (number() == 24 || !has_counters(gpu_of(device))) return kNotSupported;
  *links = {number() == 25 ? 4 : abi::kMostLinks, {1, 1, 1, 1, 1, 1, 1, 2}, {}};
  if (has_errors(gpu_of(device))) links->status[2] = abi::kDown;
  return kSuccess;
}

}  // extern "C"
