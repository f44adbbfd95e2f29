// Staging slots: memory of a plan into which the other ranks push the pieces of large buffers.
// Their sizes, for schedules and for plans that enqueue themselves; Staging is the latter's.
#pragma once

#include <vector>

#include "collectives/session/lanes.h"
#include "collectives/session/peer_channels.h"
#include "collectives/session/watchdog.h"
#include "team/offered_memory.h"

namespace duet {

// Pieces are few and large. Behind a switch every copy has a fixed cost of some 4 us, and the more
// copies there are, the further ranks drift apart, until several push to one receiver at the same
// time. GB/s of a reduce_scatter on 4 x H200:
//
//   pieces of at most   256 MiB   1 GiB   4 GiB
//    32 MiB                 295     296     244
//    64 MiB                 297     345     271
//   128 MiB                 300     343     352
//
// A third slot changes nothing. For buffers of many pieces a send token keeps ranks in order:
// 13 GiB (26 pieces) 292 without, 373 with it; 4 GiB (9 pieces) 351 and 364; but 1 GiB (4 pieces)
// 343 and 337, since the token takes a while to arrive.
inline constexpr std::uint64_t kLargestPiece = 128 << 20;
inline constexpr int kMostSlots = 2;

// Slots for each sender, for parts of at most `pieces` pieces.
int slots_for(std::size_t pieces);

// The room of a slot for so many bytes: slots begin aligned.
std::uint64_t slot_bytes_for(std::uint64_t largest_piece);

// How many of the lanes push, for pieces of at most `largest_piece` bytes.
int lanes_for(CopyLanes lanes, std::uint64_t largest_piece);

// Whether ranks that push `pieces` pieces to every other rank need a send token for each receiver.
bool needs_send_token(CopyLanes lanes, std::size_t pieces);

// Blocking, while no rank is in a call: overwrites slots of the device.
void poison_slots(Device& device, const Span& slots);

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
