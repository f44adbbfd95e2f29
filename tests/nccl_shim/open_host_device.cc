// The device of the drop-in that is under test: the host's.
#include "fake_gpu/cuda/host_device.h"
#include "fake_gpu/cuda/host_gpu.h"
#include "nccl_shim/open_device.h"

namespace duet::nccl_shim {

std::unique_ptr<ShimDevice> open_current_device() { return open_device(host_gpu_device()); }

std::unique_ptr<ShimDevice> open_device(int number) {
  return std::make_unique<host::HostShimDevice>(static_cast<std::uint64_t>(number) + 1);
}

}  // namespace duet::nccl_shim
