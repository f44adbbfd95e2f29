// Memory of a plan's own that the other ranks push into: for each of them a few slots, and
// semaphores that say whose turn a slot is.
#pragma once

#include "collectives/peer/lanes.h"
#include "collectives/peer/peer_channels.h"
#include "team/offered_memory.h"

namespace duet {

// Few large pieces: behind a switch every copy costs some 4 us besides its bytes, and the more of
// them there are the further ranks drift apart, until they meet at the same receivers. GB/s of a
// reduce_scatter of 256 MiB, 1 GiB and 4 GiB on 4 x H200 by pieces of at most 32 MiB: 295, 296,
// 244; of 64 MiB: 297, 345, 271; of 128 MiB: 300, 343, 352. A third slot changes nothing. Of large
// buffers ranks therefore push in turns: 13 GiB (26 pieces) 292 without, 373 with them, 4 GiB (9)
// 351 and 364; but 1 GiB (4) 343 and 337, since whoever's turn it is hears of it late.
inline constexpr std::uint64_t kLargestPiece = 128 << 20;
inline constexpr int kMostSlots = 2;

// For parts of at most so many pieces.
int slots_for(std::size_t pieces);

// How many of the lanes push pieces of at most so many bytes.
int lanes_for(CopyLanes lanes, std::uint64_t largest_piece);

// Should ranks that each push so many pieces to each other one do so in turns?
bool needs_send_token(CopyLanes lanes, std::size_t pieces);

class Staging {
 public:
  // Inside Team::each(), by every rank with the same arguments: `slots` for each other rank, of
  // `slot_bytes` each; in turns or not.
  Staging(Rank& rank, int slots, std::uint64_t slot_bytes, bool with_send_token);

  int rank() const { return rank_; }
  int size() const { return ranks_; }
  int slots() const { return slots_; }

  // At `owner`, where `source` pushes to.
  Span slot(int owner, int source, int index) const;

  // Slots are free at first. Who pushes waits until its slot is free; who has used what was pushed
  // sets it free again.
  Semaphore full_to(int to, int index) const { return word(to, rank_, index); }
  Semaphore full_from(int from, int index) const { return word(rank_, from, index); }
  Semaphore free_to(int from, int index) const { return word(from, ranks_ + rank_, index); }
  Semaphore free_from(int to, int index) const { return word(rank_, ranks_ + to, index); }

  // In turns, what step i of a piece, the push to rank + i = `to`, waits for besides: that step
  // i - 1 of the next rank, which goes there too, has ended. And what it tells: whose turn it is
  // then. A step without bytes does both as well. Empty where there are no turns.
  std::vector<Semaphore> wait_send_token(int to) const;
  std::vector<Semaphore> pass_send_token(int to) const;

  DeviceWaits& waits() { return words_; }

  // Blocking, while no rank is in a call: overwrites this rank's slots.
  void poison();

 private:
  Semaphore word(int owner, int row, int index) const {
    return {words_.at(owner, row * slots_ + index)};
  }
  // At a rank: it may push to `to`.
  Semaphore send_token(int owner, int to) const { return word(owner, 2 * ranks_ + to, 0); }

  Device& device_;
  int rank_, ranks_, slots_;
  bool has_token_;
  std::uint64_t slot_bytes_;
  PeerSemaphores words_;
  OfferedMemory all_;
};

}  // namespace duet
