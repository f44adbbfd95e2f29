#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// A device that may be opened. Each library that the drop-in is linked to has its own definition of
// the functions below.
struct FoundDevice {
  std::string model;                                  // as the driver names it; "": not known
  std::function<std::unique_ptr<ShimDevice>()> open;  // throws Unavailable
};

FoundDevice current_device();           // of the calling thread
FoundDevice device_number(int number);  // by CUDA's number, as ncclCommCuDevice gives it

}  // namespace duet::nccl_shim
