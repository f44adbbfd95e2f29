#pragma once

#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nvshmem/pe.h"

namespace duet::nvshmem {

// What a rank puts, by PE.
std::vector<Part> parts_of(const Rank& rank, const Collective& collective);

// One rank's part of a call that a stream begins: of an all_to_all by the library's own kernel,
// of others by a put for each part. All PEs come to it before the first one puts: it writes into
// their receive buffers.
class StreamPlan : public CollectivePlan {
 public:
  StreamPlan(const Calls& calls, const Rank& rank, const Collective& collective,
             const CollectiveBuffers& buffers);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  const Calls& calls_;
  Device& device_;
  AllToAllCall call_;        // of an all_to_all
  std::vector<Part> parts_;  // of others; none: an all_to_all
};

// One rank's part of a call by a kernel's blocks, in packets (packets.h).
class PacketPlan : public CollectivePlan, private DeviceWaits {
 public:
  // Collective. `grid`: by many blocks, with a signal after each packet where all parts are equal;
  // otherwise by one block, with one signal after all.
  PacketPlan(const Calls& calls, Rank& rank, const Collective& collective,
             const CollectiveBuffers& buffers, bool grid, std::uint64_t packet, Watchdog& watchdog);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  void release_waits() noexcept override;

  const Calls& calls_;
  Device& device_;
  SymmetricMemory words_;
  Buffer own_, parts_;  // this PE's words, and what it puts
  PacketCall call_;
  Watched watched_;
};

}  // namespace duet::nvshmem
