// The device of the drop-in that is under test: the host's.
#include "fake_gpu/cuda/host_device.h"
#include "fake_gpu/cuda/host_gpu.h"
#include "nccl_shim/open_device.h"

namespace duet::nccl_shim {

FoundDevice current_device() { return device_number(host_gpu_device()); }

FoundDevice device_number(int number) {
  return {host_gpu_model(), [number] {
            return std::make_unique<host::HostShimDevice>(static_cast<std::uint64_t>(number) + 1);
          }};
}

}  // namespace duet::nccl_shim
