#include "device/gpu/packet_kernel.h"

#include <vector>

#include "device/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

unsigned char* bytes_of(const Span& span) { return reinterpret_cast<unsigned char*>(span.data); }

}  // namespace

GpuPacketKernel::GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel)
    : GpuKernel(device),
      reduces_(kernel.reduces),
      dtype_(kernel.barrier.dtype),
      op_(kernel.barrier.op),
      blocks_(kernel.barrier.blocks) {
  table_.source = bytes_of(kernel.source);
  table_.destination = bytes_of(kernel.destination);
  table_.units = static_cast<std::uint32_t>(kernel.source.bytes / kPacketDataBytes);
  table_.averages = op_ == Reduction::avg;
  for (const PacketPeer& peer : kernel.peers) {
    const Span& words = kernel.barrier.awaits[static_cast<std::size_t>(table_.peers)];
    table_.by_peer[table_.peers++] = {bytes_of(peer.source), bytes_of(peer.to_peer),
                                      bytes_of(peer.from_peer), bytes_of(peer.destination),
                                      reinterpret_cast<const std::uint64_t*>(words.data)};
  }
  const std::vector<std::uint64_t> zeros(static_cast<std::size_t>(blocks_), 0);
  calls_ = device_.allocate(zeros.size() * sizeof zeros[0]);
  device_.write(calls_.span(), zeros.data());
  table_.calls = reinterpret_cast<std::uint64_t*>(calls_.span().data);
}

void GpuPacketKernel::launch(gpuStream_t stream) const {
  launch_packet_kernel(table_, reduces_, dtype_, op_, blocks_, stream);
}

}  // namespace duet::DUET_GPU
