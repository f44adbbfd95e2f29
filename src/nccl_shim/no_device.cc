// The device of libraries that are built without CUDA: calls are all forwarded.
#include "core/error.h"
#include "nccl_shim/open_device.h"

namespace duet::nccl_shim {

std::unique_ptr<ShimDevice> open_current_device() {
  throw Unavailable("it was built without CUDA");
}

std::unique_ptr<ShimDevice> open_device(int) { return open_current_device(); }

}  // namespace duet::nccl_shim
