#pragma once

#include <memory>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// The calling thread's current device. Throws Unavailable. Each library that the drop-in is linked
// to has its own definition.
std::unique_ptr<ShimDevice> open_current_device();

}  // namespace duet::nccl_shim
