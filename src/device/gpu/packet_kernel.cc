#include <algorithm>
#include <vector>

#include "core/error.h"
#include "device/gpu/collective_kernel.h"
#include "device/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

// On two H200 512 KiB take 0.4 us less by 64 blocks than by 32.
constexpr int kMostBlocks = 64;
// As many as are on a compute unit at a time; each has several rows where there are more.
constexpr int kNormBlocksOfUnit = 2;

// More than kMostBlocks would not all be on an H200 at once: blocks of a row are on neighbouring
// compute units, of which some then stay free. 32 rows of 16 KiB took 6.0 us by 128 blocks.
gpu::NormRows norm_rows(const GpuDevice& device, const RowNorm& norm, const Span& result) {
  gpu::NormRows rows = gpu::norm_rows(norm, result);
  if (device.blocks_share_rows()) rows.blocks = gpu::blocks_of_row(rows, kMostBlocks);
  return rows;
}

unsigned char* bytes_of(const Span& span) { return reinterpret_cast<unsigned char*>(span.data); }

}  // namespace

GpuPacketKernel::GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel)
    : GpuKernel(device),
      use_{kernel.reduces, kernel.numbered, kernel.barrier.dtype, kernel.barrier.op} {
  gpu::PacketTable& table = table_.exchange;
  for (std::size_t i = 0; i < kernel.peers.size(); ++i) {
    const PacketPeer& peer = kernel.peers[i];
    const int place = peer.rank < kernel.rank ? peer.rank : peer.rank - 1;
    table.peers[place] = {bytes_of(peer.source), bytes_of(peer.to_peer), bytes_of(peer.from_peer),
                          bytes_of(peer.destination)};
    table_.failed[place] = reinterpret_cast<const std::uint64_t*>(kernel.barrier.awaits[i].data);
  }
  table.own = bytes_of(kernel.source);
  table.result = bytes_of(kernel.destination);
  table.bytes = kernel.source.bytes;
  table.turn = gpu::turn_bytes(table.bytes, use_.numbered);
  table.count = static_cast<std::uint32_t>(kernel.peers.size());
  table.rank = static_cast<std::uint32_t>(kernel.rank);
  table.divisor = use_.op == Reduction::avg ? static_cast<std::int32_t>(table.count + 1) : 1;
  // A block may wait for any block of a peer's kernel: all blocks of a kernel run at once.
  table.places = static_cast<std::uint32_t>(std::min(kMostBlocks, device.info().compute_units));
  table.aligned = gpu::has_aligned_parts(table);
  if (kernel.norm) table_.norm = norm_rows(device, *kernel.norm, kernel.destination);
  const std::vector<std::uint32_t> zeros(table.places, 0);
  last_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(last_.span(), zeros.data());
  table.last = reinterpret_cast<std::uint32_t*>(last_.span().data);
  prepared_ = table_;
}

// Peers write to packet buffers alone: where a rank's own data lie, they need not know.
void GpuPacketKernel::shift(const KernelShift& by) {
  gpu::PacketKernelTable moved = prepared_;
  gpu::PacketTable& table = moved.exchange;
  table.own += by.sources;
  table.result += by.destinations;
  for (std::uint32_t i = 0; i < table.count; ++i) {
    table.peers[i].source += by.sources;
    table.peers[i].target += by.destinations;
  }
  table.aligned = gpu::has_aligned_parts(table);
  gpu::NormRows& norm = moved.norm;
  if (norm.rows > 0) {
    norm.residual += by.residual;
    norm.updated += by.updated;
    norm.weight += by.weight;
    norm.result += by.destinations;
    if (table.aligned == 0 || !gpu::has_aligned_rows(norm))
      throw BadArgument("a sum that is normalised: expected addresses that are multiples of 8");
  }
  table_ = moved;
}

void GpuPacketKernel::launch(gpuStream_t stream) const {
  if (table_.norm.rows > 0) return launch_packet_norm_kernel(table_, use_, stream);
  launch_packet_kernel(table_, use_, stream);
}

GpuNormKernel::GpuNormKernel(GpuDevice& device, const NormKernel& kernel)
    : GpuKernel(device), dtype_(kernel.dtype) {
  table_.norm = norm_rows(device, kernel.norm, kernel.result);
  for (const Span& source : kernel.sources) table_.sources[table_.count++] = bytes_of(source);
}

void GpuNormKernel::launch(gpuStream_t stream) const {
  const auto blocks = static_cast<unsigned>(kNormBlocksOfUnit * device_.info().compute_units);
  launch_norm_kernel(table_, dtype_, blocks, stream);
}

}  // namespace duet::DUET_GPU
