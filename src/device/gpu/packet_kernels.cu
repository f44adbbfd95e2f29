// PacketKernel.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/collective_kernel.h"
#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/packet_exchange.h"
#include "device/gpu/reduction_words.h"

namespace duet::DUET_GPU {
namespace {

template <typename Type, typename Op>
__global__ void __launch_bounds__(kKernelThreads)
    packet_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  exchange_packets<Reduces<Type, Op>, WithNumbers>(table.exchange, GoesOnUntilFailure{table});
}

template <typename Type>
__global__ void __launch_bounds__(kKernelThreads)
    bare_packet_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  exchange_packets<Reduces<Type, Sum>, WithoutNumbers>(table.exchange, GoesOnUntilFailure{table});
}

__global__ void __launch_bounds__(kKernelThreads)
    packet_moves_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  exchange_packets<Moves, WithNumbers>(table.exchange, GoesOnUntilFailure{table});
}

struct Kernels {
  template <typename Type, typename Op>
  static constexpr auto kernel = packet_kernel<Type, Op>;
};

auto bare_kernel_for(DType dtype) {
  if (dtype == DType::fp16) return bare_packet_kernel<Fp16Lanes>;
  if (dtype == DType::bf16) return bare_packet_kernel<Bf16Lanes>;
  return bare_packet_kernel<Fp32Lanes>;
}

}  // namespace

void launch_packet_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                          gpuStream_t stream) {
  auto kernel = use.reduces ? kernel_for<Kernels>(use.dtype, use.op) : packet_moves_kernel;
  if (!use.numbered) kernel = bare_kernel_for(use.dtype);
  const auto blocks =
      static_cast<unsigned>(gpu::packet_blocks(table.exchange.bytes, table.exchange.places));
  kernel<<<dim3(blocks), dim3(kKernelThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void load_packet_kernels() {
  load_kernel(packet_moves_kernel);
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for<Kernels>(dtype, op));
    load_kernel(bare_kernel_for(dtype));
  }
}

}  // namespace duet::DUET_GPU
