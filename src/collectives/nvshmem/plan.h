#pragma once

#include <string>

#include "collectives/engine.h"
#include "collectives/nvshmem/pe.h"

namespace duet::nvshmem {

// What a call of this rank moves.
AllToAllCall call_of(const Rank& rank, const Collective& collective,
                     const CollectiveBuffers& buffers);

// One rank's part of an all_to_all by the library's own call on a stream. All PEs come to it
// before the first one puts: it writes into their receive buffers.
class AllToAllPlan : public CollectivePlan {
 public:
  AllToAllPlan(const Calls& calls, const Rank& rank, const Collective& collective,
               const CollectiveBuffers& buffers);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  const Calls& calls_;
  Device& device_;
  AllToAllCall call_;
};

// One rank's part of an all_to_all by a kernel's blocks, in packets (packets.h).
class PacketPlan : public CollectivePlan, private DeviceWaits {
 public:
  // Collective. `grid`: by many blocks, with a signal after each packet; otherwise by one block,
  // with one signal after all.
  PacketPlan(const Calls& calls, Rank& rank, const Collective& collective,
             const CollectiveBuffers& buffers, bool grid, std::uint64_t packet, Watchdog& watchdog);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  void release_waits() noexcept override;

  const Calls& calls_;
  Device& device_;
  SymmetricMemory words_;
  Buffer own_;  // this PE's words
  PacketCall call_;
  Watched watched_;
};

}  // namespace duet::nvshmem
