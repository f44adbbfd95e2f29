#include <algorithm>
#include <vector>

#include "device/gpu/collective_kernel.h"
#include "device/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

// On two H200 512 KiB take 0.4 us less by 64 blocks than by 32.
constexpr int kMostBlocks = 64;

unsigned char* bytes_of(const Span& span) { return reinterpret_cast<unsigned char*>(span.data); }

}  // namespace

GpuPacketKernel::GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel)
    : GpuKernel(device),
      reduces_(kernel.reduces),
      dtype_(kernel.barrier.dtype),
      op_(kernel.barrier.op) {
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
  table.turn = packet_buffer_bytes(kernel.source.bytes) / 2;
  table.count = static_cast<std::uint32_t>(kernel.peers.size());
  table.rank = static_cast<std::uint32_t>(kernel.rank);
  table.divisor = op_ == Reduction::avg ? static_cast<std::int32_t>(table.count + 1) : 1;
  // A block may wait for any block of a peer's kernel: all blocks of a kernel run at once.
  table.places = static_cast<std::uint32_t>(std::min(kMostBlocks, device.info().compute_units));
  table.aligned = gpu::has_aligned_parts(table);
  const std::vector<std::uint32_t> zeros(table.places, 0);
  last_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(last_.span(), zeros.data());
  table.last = reinterpret_cast<std::uint32_t*>(last_.span().data);
}

void GpuPacketKernel::launch(gpuStream_t stream) const {
  launch_packet_kernel(table_, reduces_, dtype_, op_, stream);
}

}  // namespace duet::DUET_GPU
