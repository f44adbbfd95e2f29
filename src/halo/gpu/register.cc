#include "device/gpu/device.h"
#include "device/gpu/module.h"
#include "halo/gpu/kernels.h"
#include "halo/gpu/sweeper.h"

namespace duet::DUET_GPU {

void register_gpu_halo() {
  register_sweeper(DUET_GPU_NAME, [](Device& device) {
    device.make_current();
    load_halo_kernels();
    return make_gpu_sweeper(device, device.info().compute_units);
  });
}

}  // namespace duet::DUET_GPU
