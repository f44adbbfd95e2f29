// NormKernel, and PacketKernel with a norm.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <algorithm>
#include <cstdint>

#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/norm_exchange.h"
#include "device/gpu/norm_row.h"
#include "device/gpu/packet_exchange.h"

namespace duet::DUET_GPU {
namespace {

template <typename Type>
__global__ void __launch_bounds__(kKernelThreads)
    norm_kernel(const DUET_GPU_PARAMETER gpu::NormTable table) {
  using Shape = WordPairs<Type>;
  const gpu::NormRows& of = table.norm;
  NormRow<Type> own(of);
  sync_cluster(of.blocks);
  const RowsOfBlock rows(of);
  for (std::uint64_t row = rows.first; row < of.rows; row += rows.step) {
    // Loaded before anything is stored, so that the latencies overlap.
    float sums[gpu::kNormUnits][Shape::kCount];
    Pair residual[gpu::kNormUnits];
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; ++i) {
      if (!NormRow<Type>::has(of, i)) continue;
      const std::uint64_t at = row * of.units + NormRow<Type>::unit(of, i);
      residual[i] = unit_at(of.residual, at);
      set<Shape>(sums[i], unit_at(table.sources[0], at));
      for (std::uint32_t source = 1; source < table.count; ++source)
        add<Shape, Sum>(sums[i], unit_at(table.sources[source], at));
    }
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; ++i) {
      if (!NormRow<Type>::has(of, i)) continue;
      own.add(i, row * of.units + NormRow<Type>::unit(of, i), residual[i], sums[i]);
    }
    own.finish(row);
  }
}

template <typename Type, typename Format>
__global__ void __launch_bounds__(kKernelThreads)
    packet_norm_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  exchange_and_normalise<Type, Format>(table, GoesOnUntilFailure{table});
}

// Of the element types that are normalised, calls `with` its kernels.
template <typename With>
void with_lanes(DType dtype, const With& with) {
  if (dtype == DType::fp16) return with(Fp16Lanes{});
  if (dtype == DType::bf16) return with(Bf16Lanes{});
  with(Fp32Lanes{});
}

// Blocks that share a row are a cluster.
template <typename Table>
void launch_rows(void (*kernel)(Table), const Table& table, unsigned blocks, gpuStream_t stream) {
#ifdef DUET_GPU_HIP
  kernel<<<dim3(blocks), dim3(kKernelThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(hipGetLastError());
#else
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = table.norm.blocks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kKernelThreads);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = table.norm.blocks > 1 ? 1 : 0;
  DUET_GPU_CHECK(cudaLaunchKernelEx(&config, kernel, table));
#endif
}

}  // namespace

void launch_norm_kernel(const gpu::NormTable& table, DType dtype, unsigned most_blocks,
                        gpuStream_t stream) {
  const unsigned rows = std::min(table.norm.rows, most_blocks);
  with_lanes(dtype, [&](auto lanes) {
    launch_rows(norm_kernel<decltype(lanes)>, table, rows * table.norm.blocks, stream);
  });
}

void launch_packet_norm_kernel(const gpu::PacketKernelTable& table, const gpu::PacketUse& use,
                               gpuStream_t stream) {
  const unsigned rows = std::min(table.norm.rows, table.exchange.places / table.norm.blocks);
  with_lanes(use.dtype, [&](auto lanes) {
    using Lanes = decltype(lanes);
    const auto kernel = use.numbered ? packet_norm_kernel<Lanes, WithNumbers>
                                     : packet_norm_kernel<Lanes, WithoutNumbers>;
    launch_rows(kernel, table, rows * table.norm.blocks, stream);
  });
}

bool load_norm_kernels() {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    with_lanes(dtype, [](auto lanes) {
      load_kernel(norm_kernel<decltype(lanes)>);
      load_kernel(packet_norm_kernel<decltype(lanes), WithNumbers>);
      load_kernel(packet_norm_kernel<decltype(lanes), WithoutNumbers>);
    });
  }
#ifdef DUET_GPU_HIP
  return false;
#else
  cudaFuncAttributes attributes{};
  DUET_GPU_CHECK(cudaFuncGetAttributes(&attributes, norm_kernel<Fp32Lanes>));
  return attributes.binaryVersion >= 90;  // for which cluster_sum() is compiled
#endif
}

}  // namespace duet::DUET_GPU
