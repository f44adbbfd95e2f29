// Entry point of the modules duet_cuda and duet_hip: what a vendor's runtime brings.
#include "device/gpu/device.h"
#include "device/gpu/machine.h"
#include "device/machine.h"
#include "gemm/gpu/register.h"
#include "halo/gpu/kernels.h"
#include "halo/gpu/sweeper.h"
#include "training/gpu/operations.h"

namespace duet::DUET_GPU {
namespace {

std::unique_ptr<Sweeper> sweeper_on(Device& device) {
  device.make_current();
  load_halo_kernels();
  return make_gpu_sweeper(device, device.info().compute_units);
}

std::unique_ptr<Operations> operations_on(Device& device, const OperationsOptions& options) {
  int shared = 0;
  DUET_GPU_CHECK(GPU(DeviceGetAttribute)(&shared, gpuDevAttrMaxSharedMemory,
                                         dynamic_cast<GpuDevice&>(device).ordinal()));
  return make_gpu_operations(device, options, static_cast<std::uint64_t>(shared));
}

}  // namespace
}  // namespace duet::DUET_GPU

extern "C" void duet_register();

void duet_register() {
  using namespace duet::DUET_GPU;
  duet::register_backend({DUET_GPU_NAME,
                          DUET_GPU_NAME ", or " DUET_GPU_NAME ":0,1: all GPUs, or these",
                          open_gpu_machine});
  register_gemm();
  duet::register_operations(DUET_GPU_NAME, operations_on);
  duet::register_sweeper(DUET_GPU_NAME, sweeper_on);
}
