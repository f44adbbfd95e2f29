// The device of libraries that are built without CUDA: calls are all forwarded.
#include "core/error.h"
#include "nccl_shim/open_device.h"

namespace duet::nccl_shim {

FoundDevice current_device() {
  return {"",
          []() -> std::unique_ptr<ShimDevice> { throw Unavailable("it was built without CUDA"); }};
}

FoundDevice device_number(int) { return current_device(); }

}  // namespace duet::nccl_shim
