#pragma once

#include <memory>

#include "device/gpu/vendor.h"
#include "halo/sweep.h"

namespace duet::DUET_GPU {

// Sweeps by kernels. `units`: the device's compute units.
std::unique_ptr<Sweeper> make_gpu_sweeper(Device& device, int units);

}  // namespace duet::DUET_GPU
