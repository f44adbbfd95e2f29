#include <fmt/format.h>

#include <cstdlib>

#include "core/error.h"
#include "device/gpu/built_for.h"
#include "device/gpu/vendor_calls.h"
#include "device/hip/smi.h"

namespace duet::hip {
namespace {

constexpr const char* kQueues = "GPU_MAX_HW_QUEUES";

}  // namespace

// Raises the number of hardware queues. A stream that waits for a semaphore blocks all streams that
// share its hardware queue, possibly the one that would signal the semaphore. HIP's default is 4
// queues (ROCm documentation, environment variables). HIP reads the variable once, at its first
// call.
void prepare_environment() { setenv(kQueues, "24", 0); }

std::string why_no_devices(hipError_t error) {
  if (error == hipSuccess || error == hipErrorNoDevice) {
    return "no AMD GPU: the HIP runtime counts no devices";
  }
  return fmt::format("no AMD GPU can be used: {} ({})", hipGetErrorString(error),
                     hipGetErrorName(error));
}

void require_code(const hipDeviceProp_t& properties) {
  if (gpu::has_hip_code(DUET_ARCHITECTURES, properties.gcnArchName)) return;
  throw Unavailable(gpu::no_hip_code(DUET_ARCHITECTURES, properties.name, properties.gcnArchName));
}

// The runtime does not report the number of SDMA engines, so it stays unknown.
void describe(int, const hipDeviceProp_t& properties, DeviceInfo& info) {
  info.gpu_runtime = GpuRuntime::hip;
  info.link_per_peer = true;
  info.details["architecture"] = properties.gcnArchName;
  info.details["hardware queues"] = std::getenv(kQueues);
  int driver = 0;
  DUET_GPU_CHECK(hipDriverGetVersion(&driver));
  const std::string version = smi() != nullptr ? smi()->driver_version() : "";
  info.details["driver"] =
      version.empty() ? fmt::format("HIP {}", driver) : fmt::format("{} (HIP {})", version, driver);
}

}  // namespace duet::hip
