// Entry point of the HIP module on the stand-in: devices and GEMM; kernels of other workloads are
// not built here.
#include "device/gpu/machine.h"
#include "device/machine.h"
#include "gemm/gpu/register.h"

extern "C" void duet_register();

void duet_register() {
  using namespace duet::DUET_GPU;
  duet::register_backend({DUET_GPU_NAME, DUET_GPU_NAME ", on the stand-in", open_gpu_machine});
  register_gemm();
}
