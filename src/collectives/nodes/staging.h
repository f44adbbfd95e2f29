// Staging slots of a node's ranks, for plans that enqueue themselves.
#pragma once

#include "collectives/session/peer_semaphores.h"
#include "team/offered_memory.h"

namespace duet {

// For each of a rank's slots, in each direction:
//
//   sender    --full--->  receiver   "the piece has arrived in the slot"
//   receiver  --free--->  sender     "the piece has been used; the slot may be written"
//
// Invariant: while no rank is in a call, `full` is 0 and `free` is 1.
class Staging {
 public:
  // Collective: every rank constructs it inside Team::each() with the same arguments; `slots` of
  // `slot_bytes` for each other rank.
  Staging(Rank& rank, int slots, std::uint64_t slot_bytes);

  int rank() const { return rank_; }
  int size() const { return ranks_; }
  int slots() const { return slots_; }

  Span own_slots() const { return all_.own().span(); }  // all of this rank's
  // The slot at `owner` into which `source` pushes.
  Span slot(int owner, int source, int index) const;

  // Signalled by this rank (`to`) and awaited by this rank (`from`); `index` is the slot's.
  Semaphore full_to(int to, int index) const { return semaphore(to, rank_, index); }
  Semaphore full_from(int from, int index) const { return semaphore(rank_, from, index); }
  Semaphore free_to(int from, int index) const { return semaphore(from, ranks_ + rank_, index); }
  Semaphore free_from(int to, int index) const { return semaphore(rank_, ranks_ + to, index); }

  DeviceWaits& waits() { return semaphores_; }

  void poison() { poison_slots(device_, own_slots()); }

 private:
  Semaphore semaphore(int owner, int row, int index) const {
    return semaphores_.at(owner, row * slots_ + index);
  }
  Device& device_;
  int rank_, ranks_, slots_;
  std::uint64_t slot_bytes_;
  SpacedPeerSemaphores semaphores_;
  OfferedMemory all_;
};

}  // namespace duet
