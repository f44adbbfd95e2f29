#include "collectives/session/peer_semaphores.h"

#include <limits>
#include <vector>

#include "core/deadline.h"
#include "device/engine_streams.h"

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

// GPUs compare by the signed difference: the largest signed number is above all that a wait is for.
// Returns false where the device is gone, and its streams with it.
bool released(Device& device, const Semaphore& semaphore) noexcept try {
  device.signal(semaphore, std::numeric_limits<std::int64_t>::max());
  return true;
} catch (const std::exception&) {
  return false;
}

Buffer zeroed_spaced_semaphores(Device& device, int count, MemoryKind kind) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(count) * kSpacedBytes /
                                   sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); i += kSpacedBytes / sizeof(std::uint64_t)) {
    words[i] = kSpacedFirst;
  }
  const std::uint64_t bytes = words.size() * sizeof(std::uint64_t);
  auto* const engines = dynamic_cast<EngineStreams*>(&device);
  Buffer buffer = kind != MemoryKind::device ? device.allocate(bytes, kind)
                  : engines != nullptr       ? engines->allocate_spaced(bytes)
                                             : device.allocate_coherent(bytes);
  if (count > 0) device.write(buffer.span(), words.data());
  return buffer;
}

}  // namespace

Buffer zeroed_semaphores(Device& device, int count, MemoryKind kind) {
  return zeroed_bytes(device, static_cast<std::size_t>(count) * kSemaphoreBytes, kind);
}

void release_all(Device& device, const Buffer& semaphores, std::size_t first) noexcept {
  for (std::size_t i = first; i < semaphores.bytes() / kSemaphoreBytes; ++i) {
    if (!released(device, semaphore_at(semaphores, i))) return;
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

SpacedPeerSemaphores::SpacedPeerSemaphores(Rank& rank, int count, MemoryKind kind)
    : device_(rank.device),
      count_(count),
      all_(
          rank, [&] { return zeroed_spaced_semaphores(rank.device, count, kind); },
          "the other ranks' semaphores") {}

Semaphore SpacedPeerSemaphores::at(int owner, int index) const {
  return spaced_semaphore_at(all_.at(owner), static_cast<std::size_t>(index));
}

void SpacedPeerSemaphores::release_waits() noexcept {
  for (int i = 0; i < count_; ++i) {
    if (!released(device_, spaced_semaphore_at(all_.own().span(), static_cast<std::size_t>(i)))) {
      return;
    }
  }
}

PacketBuffers::PacketBuffers(Rank& rank, std::uint64_t bytes)
    : bytes_(bytes),
      all_(
          rank,
          [&] { return zeroed_bytes(rank.device, bytes * static_cast<std::uint64_t>(rank.size)); },
          "the other ranks' packet buffers") {}

Span PacketBuffers::at(int owner, int source) const {
  return all_.at(owner).slice(static_cast<std::uint64_t>(source) * bytes_, bytes_);
}

void poison_slots(Device& device, const Span& slots) {
  const auto stream = device.make_stream();
  stream->fill(slots, {FillKind::constant, 0xDB, 0, DType::fp32});
  stream->synchronize(kDefaultDeadlineSeconds);
}

}  // namespace duet
