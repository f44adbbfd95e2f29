// PacketBuffers by source, the owner's own left empty.
#include "collectives/peer/packet_buffers.h"

#include <vector>

namespace duet {
namespace {

Buffer zeroed(Device& device, std::uint64_t bytes) {
  const std::vector<std::byte> zeros(bytes, std::byte{0});
  Buffer buffer = device.allocate(bytes);
  device.write(buffer.span(), zeros.data());
  return buffer;
}

}  // namespace

PacketBuffers::PacketBuffers(Rank& rank, std::uint64_t bytes)
    : bytes_(bytes),
      all_(
          rank, [&] { return zeroed(rank.device, bytes * static_cast<std::uint64_t>(rank.size)); },
          "the other ranks' packet_buffers") {}

Span PacketBuffers::at(int owner, int source) const {
  return all_.at(owner).slice(static_cast<std::uint64_t>(source) * bytes_, bytes_);
}

}  // namespace duet
