// The kernels of reductions, which the drop-in carries as an image for the driver.
#include "device/gpu/item_slices.h"
#include "device/gpu/kernel_parameter.h"
#include "nccl_shim/cuda/kernel_arguments.h"

namespace duet::DUET_GPU {
namespace {

template <typename Type, typename Op>
__device__ void reduce_own_slice(const nccl_shim::cuda::ReduceArguments& arguments) {
  const BlockSlice slice = own_slice(arguments.bytes, arguments.share);
  if (slice.begin == slice.end) return;
  const Piece piece{arguments.addresses,
                    arguments.addresses + arguments.parts,
                    static_cast<int>(arguments.parts),
                    1,
                    slice.begin,
                    0,
                    whole_block()};
  reduce_slice<Type, Op>(piece, slice.end - slice.begin, arguments.width, arguments.divisor);
}

}  // namespace
}  // namespace duet::DUET_GPU

#define DUET_REDUCE_KERNEL(type, Lanes, operation, Op)                               \
  extern "C" __global__ void __launch_bounds__(duet::kKernelThreads)                 \
      duet_reduce_##type##_##operation(                                              \
          const DUET_GPU_PARAMETER duet::nccl_shim::cuda::ReduceArguments of) {      \
    duet::DUET_GPU::reduce_own_slice<duet::DUET_GPU::Lanes, duet::DUET_GPU::Op>(of); \
  }
DUET_FOR_REDUCING_KERNELS(DUET_REDUCE_KERNEL)
