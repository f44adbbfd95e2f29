#include "collectives/peer/peer_channels.h"

#include <limits>
#include <vector>

namespace duet {
namespace {

constexpr std::size_t kSemaphoreBytes = sizeof(std::uint64_t);

Buffer zeroed_bytes(Device& device, std::uint64_t bytes, MemoryKind kind = MemoryKind::device) {
  const std::vector<std::byte> zeros(bytes, std::byte{0});
  Buffer buffer =
      kind == MemoryKind::device ? device.allocate_coherent(bytes) : device.allocate(bytes, kind);
  if (bytes > 0) device.write(buffer.span(), zeros.data());
  return buffer;
}

}  // namespace

Buffer zeroed_semaphores(Device& device, int count, MemoryKind kind) {
  return zeroed_bytes(device, static_cast<std::size_t>(count) * kSemaphoreBytes, kind);
}

// GPUs compare by the signed difference: the largest signed number is above all that a wait is for.
void release_all(Device& device, const Buffer& semaphores, std::size_t first) noexcept {
  constexpr std::uint64_t kReleased = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = first; i < semaphores.bytes() / kSemaphoreBytes; ++i) {
    try {
      device.signal(semaphore_at(semaphores, i), kReleased);
    } catch (const std::exception&) {
      return;  // the device is gone, and its streams with it
    }
  }
}

PeerSemaphores::PeerSemaphores(Rank& rank, int count, MemoryKind kind)
    : device_(rank.device),
      all_(
          rank, [&] { return zeroed_semaphores(rank.device, count, kind); },
          "the other ranks' semaphores") {}

Span PeerSemaphores::at(int owner, int first, int count) const {
  return all_.at(owner).slice(static_cast<std::size_t>(first) * kSemaphoreBytes,
                              static_cast<std::size_t>(count) * kSemaphoreBytes);
}

void PeerSemaphores::release_waits() noexcept { release_all(device_, all_.own(), 0); }

void set_peers(PeerKernel& kernel, const PeerSemaphores& semaphores, int first, int rank,
               int ranks) {
  const int blocks = kernel.blocks;
  for (int step = 1; step < ranks; ++step) {
    const int peer = (rank + step) % ranks;
    kernel.arrivals.push_back(semaphores.at(peer, first + rank * blocks, blocks));
    kernel.awaits.push_back(semaphores.at(rank, first + peer * blocks, blocks));
  }
}

PeerChannels::PeerChannels(Rank& rank, const Span& receive_buffer)
    : rank_(rank.index),
      recv_(rank, receive_buffer, "the other ranks' receive buffers"),
      semaphores_(rank, 2 * rank.size) {}

PacketBuffers::PacketBuffers(Rank& rank, std::uint64_t bytes)
    : bytes_(bytes),
      all_(
          rank,
          [&] { return zeroed_bytes(rank.device, bytes * static_cast<std::uint64_t>(rank.size)); },
          "the other ranks' packet buffers") {}

Span PacketBuffers::at(int owner, int source) const {
  return all_.at(owner).slice(static_cast<std::uint64_t>(source) * bytes_, bytes_);
}

}  // namespace duet
