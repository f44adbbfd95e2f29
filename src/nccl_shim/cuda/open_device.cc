// The device of the drop-in's own libraries: the GPU whose context is current.
#include "nccl_shim/open_device.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "nccl_shim/cuda/device.h"

namespace duet::nccl_shim {
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
    return std::make_unique<cuda::CudaShimDevice>(context);
  } catch (const Error& error) {
    throw Unavailable(error.what());
  }
}

}  // namespace

std::unique_ptr<ShimDevice> open_current_device() {
  CUcontext context = nullptr;
  cuda::check(cuda::driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context == nullptr) throw Unavailable("no CUDA context is current");
  return open_context(context);
}

// The context is the runtime's own, which keeps it to the end of the process.
std::unique_ptr<ShimDevice> open_device(int number) {
  CUcontext context = nullptr;
  if (cuda::driver().cuDevicePrimaryCtxRetain(&context, number) != CUDA_SUCCESS) {
    throw Unavailable("device " + std::to_string(number) + " has no context");
  }
  return open_context(context);
}

}  // namespace duet::nccl_shim
