#include "device/gpu/module.h"

#include "device/gpu/machine.h"
#include "device/machine.h"

extern "C" void duet_register();

void duet_register() {
  using namespace duet::DUET_GPU;
  duet::register_backend({DUET_GPU_NAME,
                          DUET_GPU_NAME ", or " DUET_GPU_NAME ":0,1: all GPUs, or these",
                          open_gpu_machine});
  if (register_gpu_gemm != nullptr) register_gpu_gemm();
  if (register_gpu_training != nullptr) register_gpu_training();
  if (register_gpu_halo != nullptr) register_gpu_halo();
}
