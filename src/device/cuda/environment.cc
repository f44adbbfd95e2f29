#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "device/cuda/nvml.h"
#include "device/gpu/built_for.h"
#include "device/gpu/vendor_calls.h"

namespace duet::cuda {
namespace {

constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

}  // namespace

// Raises the number of hardware queues. A stream that waits for a semaphore blocks all streams that
// share its hardware queue, possibly the one that would signal the semaphore. CUDA's default is 8
// queues and its maximum is 32 (CUDA C++ Programming Guide, environment variables). CUDA reads the
// variable once, at its first call.
void prepare_environment() {
  setenv(kConnections, "32", 0);
  if (std::string_view(std::getenv(kConnections)) == "1") {
    throw Unavailable(
        fmt::format("{}=1 lets a stream that waits block the one that would release it: unset it",
                    kConnections));
  }
}

std::string why_no_devices(cudaError_t error) {
  int driver = 0;
  const cudaError_t asked = cudaDriverGetVersion(&driver);
  forget(asked);
  if (driver == 0) return "no NVIDIA driver: libcuda.so.1 was not found";
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "no NVIDIA GPU";
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver is too old: it is for CUDA {}.{}, this is built with {}.{}",
        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  }
  return fmt::format("no NVIDIA GPU can be used: {} ({})", cudaGetErrorString(error),
                     cudaGetErrorName(error));
}

void require_code(const cudaDeviceProp& properties) {
  if (gpu::has_cuda_code(DUET_ARCHITECTURES, properties.major, properties.minor)) return;
  throw Unavailable(
      gpu::no_cuda_code(DUET_ARCHITECTURES, properties.name, properties.major, properties.minor));
}

void describe(int ordinal, const cudaDeviceProp& properties, DeviceInfo& info) {
  int ordering = 0;  // of cudaGPUDirectRDMAWritesOrdering
  DUET_GPU_CHECK(
      cudaDeviceGetAttribute(&ordering, cudaDevAttrGPUDirectRDMAWritesOrdering, ordinal));
  info.gpu_runtime = GpuRuntime::cuda;
  info.kernels_see_peer_writes = true;
  info.network_writes_ordered = ordering >= cudaGPUDirectRDMAWritesOrderingOwner;
  info.copy_engines = properties.asyncEngineCount;
  info.details["compute capability"] = fmt::format("{}.{}", properties.major, properties.minor);
  info.details["hardware queues"] = std::getenv(kConnections);
  int driver = 0;
  DUET_GPU_CHECK(cudaDriverGetVersion(&driver));
  const Nvml* nvml = Nvml::instance();
  info.details["driver"] =
      fmt::format("{} (CUDA {}.{})", nvml != nullptr ? nvml->driver_version() : "unknown version",
                  driver / 1000, driver % 1000 / 10);
}

std::optional<Telemetry> read_telemetry(const std::string& bus) {
  const Nvml* nvml = Nvml::instance();
  return nvml != nullptr ? nvml->telemetry(bus) : std::nullopt;
}

std::optional<DeviceHealth> read_health(const std::string& bus) {
  const Nvml* nvml = Nvml::instance();
  return nvml != nullptr ? nvml->health(bus) : std::nullopt;
}

std::vector<std::uint64_t> read_new_xids(const std::string& bus) {
  const Nvml* nvml = Nvml::instance();
  return nvml != nullptr ? nvml->new_xids(bus) : std::vector<std::uint64_t>();
}

std::optional<double> read_joules(const std::string& bus) {
  const Nvml* nvml = Nvml::instance();
  return nvml != nullptr ? nvml->joules(bus) : std::nullopt;
}

}  // namespace duet::cuda
