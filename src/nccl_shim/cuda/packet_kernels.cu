// The kernels of packets, which the drop-in carries as an image for the driver.
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/packet_exchange.h"
#include "nccl_shim/cuda/kernel_arguments.h"
#include "nccl_shim/cuda/until_ended.h"

namespace duet::DUET_GPU {
namespace {

template <typename Take>
__device__ void exchange(const nccl_shim::cuda::PacketArguments& of) {
  exchange_packets<Take, WithNumbers>(
      of.exchange, [&](const auto& is_missing) { return goes_on_until_ended(of, is_missing); });
}

}  // namespace
}  // namespace duet::DUET_GPU

#define DUET_PACKET_KERNEL(name, ...)                                            \
  extern "C" __global__ void __launch_bounds__(duet::kKernelThreads)             \
      name(const DUET_GPU_PARAMETER duet::nccl_shim::cuda::PacketArguments of) { \
    duet::DUET_GPU::exchange<duet::DUET_GPU::__VA_ARGS__>(of);                   \
  }
#define DUET_REDUCING_KERNEL(type, Lanes, operation, Op) \
  DUET_PACKET_KERNEL(duet_exchange_##type##_##operation, \
                     Reduces<duet::DUET_GPU::Lanes, duet::DUET_GPU::Op>)
DUET_PACKET_KERNEL(duet_exchange, Moves)
DUET_FOR_REDUCING_KERNELS(DUET_REDUCING_KERNEL)
