// Semaphores of 64 bits that ranks write for each other to wait for, 0 at first. A word lies at the
// rank that waits for it, so that nobody polls over a wire.
#pragma once

#include "collectives/peer/watchdog.h"
#include "device/collective_kernel.h"
#include "team/offered_memory.h"

namespace duet {

// `count` words of a device's, 0 at first.
Buffer zeroed_semaphores(Device& device, int count);

class Semaphores : public Waiting {
 public:
  // Inside Team::each(), by every rank with the same count: so many words at each rank.
  Semaphores(Rank& rank, int count);

  // `count` words of a rank's, from `first` on.
  Span at(int owner, int first, int count = 1) const;

  void release_waits() noexcept override;

 private:
  Device& device_;
  OfferedMemory all_;
};

// Gives the kernel its words for the barriers with all other ranks: `ranks` times `kernel.blocks`
// at each rank from word `first` on, by the rank that writes them.
void set_peers(PeerKernel& kernel, const Semaphores& words, int first, int rank, int ranks);

}  // namespace duet
