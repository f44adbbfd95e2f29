#include "device/gpu/device.h"
#include "device/gpu/module.h"
#include "training/gpu/operations.h"

namespace duet::DUET_GPU {

void register_gpu_training() {
  register_operations(DUET_GPU_NAME, [](Device& device, const OperationsOptions& options) {
    int shared = 0;
    DUET_GPU_CHECK(gpuDeviceGetAttribute(&shared, gpuDevAttrMaxSharedMemory,
                                         dynamic_cast<GpuDevice&>(device).ordinal()));
    return make_gpu_operations(device, options, static_cast<std::uint64_t>(shared));
  });
}

}  // namespace duet::DUET_GPU
