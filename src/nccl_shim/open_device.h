#pragma once

#include <memory>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// Of the calling thread. Throws Unavailable, as the second. Each library that the drop-in is linked
// to has its own definition of both.
std::unique_ptr<ShimDevice> open_current_device();
// By CUDA's number, as ncclCommCuDevice gives it.
std::unique_ptr<ShimDevice> open_device(int number);

}  // namespace duet::nccl_shim
