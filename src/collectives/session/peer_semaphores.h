// The resources that a plan shares with the other ranks: semaphores in both directions, receive
// buffers and packet buffers, all mapped here. A semaphore is in the memory of the rank that waits
// for it, so that no rank polls over a link.
#pragma once

#include "collectives/session/watchdog.h"
#include "device/collective_kernel.h"
#include "team/peer_memory.h"

namespace duet {

// `count` semaphores of the device's, 0 at first.
Buffer zeroed_semaphores(Device& device, int count, MemoryKind kind = MemoryKind::device);

// Ends the waits for all semaphores of the buffer from this one on, as
// DeviceWaits::release_waits().
void release_all(Device& device, const Buffer& semaphores, std::size_t first) noexcept;

// As many semaphores at each rank, 0 at first, that every rank can signal.
class PeerSemaphores : public DeviceWaits {
 public:
  // Collective: every rank constructs it inside Team::each() with the same count.
  PeerSemaphores(Rank& rank, int count, MemoryKind kind = MemoryKind::device);

  // `count` of a rank's, side by side, from `first` on.
  Span at(int owner, int first, int count = 1) const;

  void release_waits() noexcept override;

 private:
  Device& device_;
  OfferedMemory all_;
};

// Likewise, spaced ones, for lanes.
class SpacedPeerSemaphores : public DeviceWaits {
 public:
  SpacedPeerSemaphores(Rank& rank, int count, MemoryKind kind = MemoryKind::device);

  Semaphore at(int owner, int index) const;

  void release_waits() noexcept override;

 private:
  Device& device_;
  int count_;
  OfferedMemory all_;
};

// A packet buffer at each rank for every other rank, which writes it; 0 at first.
class PacketBuffers {
 public:
  // Collective: every rank constructs it inside Team::each() with the same size of a buffer, a
  // multiple of 16 bytes.
  PacketBuffers(Rank& rank, std::uint64_t bytes);

  // At `owner`; `source` writes it.
  Span at(int owner, int source) const;

 private:
  std::uint64_t bytes_;
  OfferedMemory all_;
};

// Blocking, while no rank is in a call: overwrites slots of the device.
void poison_slots(Device& device, const Span& slots);

}  // namespace duet
