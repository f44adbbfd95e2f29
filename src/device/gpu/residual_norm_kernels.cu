// NormKernel, and PacketKernel with a norm.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <algorithm>
#include <cstdint>

#include "device/gpu/kernel_parameter.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
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

template <typename Type, typename Group>
__device__ Units<Group> units_of_row(const gpu::NormRows& of, unsigned first, std::uint64_t row) {
  return {row * of.units + NormRow<Type>::unit(of, first), NormRow<Type>::step(of),
          (row + 1) * of.units};
}

// The thread's units [first, first + Group::kUnits) of the row: they are summed over ranks in rank
// order, and added to the residual.
template <typename Type, typename Group, typename GoesOn>
__device__ void add_units(NormRow<Type>& own, unsigned first, std::uint64_t row, const Turn& turn,
                          const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  const gpu::NormRows& of = table.norm;
  if (!NormRow<Type>::has(of, first)) return;
  const auto units = units_of_row<Type, Group>(of, first, row);
  Pair residual[Group::kUnits] = {};
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) residual[i] = unit_at(of.residual, units.at(i));
  }
  Reducing<Group, Type, Sum> sums[Group::kUnits];
  take_parts(table.exchange, units, turn, goes_on, sums);
#pragma unroll
  for (unsigned i = 0; i < Group::kUnits; ++i) {
    if (units.has(i)) own.add(first + i, units.at(i), residual[i], sums[i].all(table.exchange));
  }
}

// As exchange_groups(), but that a block has whole rows.
template <typename Type, typename Group, typename GoesOn>
__device__ __attribute__((always_inline)) inline void exchange_rows(
    const gpu::PacketKernelTable& table, const GoesOn& goes_on) {
  const gpu::PacketTable& exchange = table.exchange;
  const gpu::NormRows& of = table.norm;
  const RowsOfBlock rows(of);
  // Between two ranks the first units are loaded beside the number of the last call, so that the
  // latencies overlap.
  const auto first = units_of_row<Type, Group>(of, 0, rows.first);
  const bool is_early = Group::kPeers == 1 && rows.first < of.rows && NormRow<Type>::has(of, 0);
  Pair early[Group::kUnits] = {};
  if (is_early) load_units(exchange, exchange.peers[0].source, first, early);
  NormRow<Type> own(of);
  const Turn turn = turn_of(exchange);
  if (is_early) store_packets(exchange.peers[0].to + turn.offset, first, turn, early);
  for (std::uint64_t row = rows.first; row < of.rows; row += rows.step) {
    for (unsigned i = 0; NormRow<Type>::has(of, i); i += Group::kUnits) {
      if (is_early && row == rows.first && i == 0) continue;
      push_units(exchange, units_of_row<Type, Group>(of, i, row), turn);
    }
  }
  end_turn(exchange, turn);
  sync_cluster(of.blocks);
  for (std::uint64_t row = rows.first; row < of.rows; row += rows.step) {
#pragma unroll
    for (unsigned i = 0; i < gpu::kNormUnits; i += Group::kUnits)
      add_units<Type, Group>(own, i, row, turn, table, goes_on);
    own.finish(row);
  }
}

template <typename Type>
__global__ void __launch_bounds__(kKernelThreads)
    packet_norm_kernel(const DUET_GPU_PARAMETER gpu::PacketKernelTable table) {
  const GoesOnUntilFailure goes_on{table};
  if (table.exchange.count == 1 && table.norm.blocks * gpu::kNormThreads >= table.norm.units) {
    exchange_rows<Type, OfOneUnit>(table, goes_on);
  } else if (table.exchange.count == 1) {
    exchange_rows<Type, OfTwoRanks>(table, goes_on);
  } else {
    exchange_rows<Type, OfMoreRanks>(table, goes_on);
  }
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

void launch_packet_norm_kernel(const gpu::PacketKernelTable& table, DType dtype,
                               gpuStream_t stream) {
  const unsigned rows = std::min(table.norm.rows, table.exchange.places / table.norm.blocks);
  with_lanes(dtype, [&](auto lanes) {
    launch_rows(packet_norm_kernel<decltype(lanes)>, table, rows * table.norm.blocks, stream);
  });
}

bool load_norm_kernels() {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    with_lanes(dtype, [](auto lanes) {
      load_kernel(norm_kernel<decltype(lanes)>);
      load_kernel(packet_norm_kernel<decltype(lanes)>);
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
