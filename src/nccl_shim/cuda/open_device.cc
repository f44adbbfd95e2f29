// The device of the drop-in's own libraries: the GPU whose context is current.
#include "nccl_shim/open_device.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "nccl_shim/cuda/device.h"

namespace duet::nccl_shim::cuda {
namespace {

bool is_one(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

std::unique_ptr<ShimDevice> open_context(CUcontext context) {
  // A wait for a peer would hold all later work of the process.
  for (const char* variable : {"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING"}) {
    if (is_one(variable)) throw Unavailable(std::string(variable) + "=1");
  }
  try {
    return std::make_unique<CudaShimDevice>(context);
  } catch (const Error& error) {
    throw Unavailable(error.what());
  }
}

std::unique_ptr<ShimDevice> open_current() {
  CUcontext context = nullptr;
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context == nullptr) throw Unavailable("no CUDA context is current");
  return open_context(context);
}

// The context is the runtime's own, which keeps it to the end of the process.
std::unique_ptr<ShimDevice> open_primary(int number) {
  CUcontext context = nullptr;
  if (driver().cuDevicePrimaryCtxRetain(&context, number) != CUDA_SUCCESS) {
    throw Unavailable("device " + std::to_string(number) + " has no context");
  }
  return open_context(context);
}

// "" where there is no such device, or no driver.
std::string model_of(CUdevice device) {
  char model[256] = "";
  try {
    const bool found = driver().cuDeviceGetName(model, sizeof model, device) == CUDA_SUCCESS;
    return found ? model : "";
  } catch (const Error&) {
    return "";
  }
}

std::string current_model() {
  CUdevice device = 0;
  try {
    return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? model_of(device) : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace
}  // namespace duet::nccl_shim::cuda

namespace duet::nccl_shim {

FoundDevice current_device() { return {cuda::current_model(), cuda::open_current}; }

FoundDevice device_number(int number) {
  return {cuda::model_of(number), [number] { return cuda::open_primary(number); }};
}

}  // namespace duet::nccl_shim
