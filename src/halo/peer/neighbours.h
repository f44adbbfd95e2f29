// What a plan has of its neighbours: their halo rows, and semaphores in both directions.
#pragma once

#include "collectives/session/peer_semaphores.h"
#include "halo/engine.h"
#include "team/peer_memory.h"

namespace duet {

// The rank's two fields, and those of the other ranks, mapped here.
class PeerFields {
 public:
  // Collective: every rank constructs it inside Team::each(). Throws Unreachable on all ranks if
  // one cannot map another's field.
  PeerFields(Rank& rank, const HaloGrid& grid);

  const FieldShape& shape() const { return shape_; }
  const Ring& ring() const { return ring_; }
  Span field(int parity) const { return part(fields_.own().span(), shape_, parity); }
  // The halo row that this rank's first, or last, row is for: the lower one of the neighbour above,
  // the upper one of the neighbour below.
  Span halo_above(int parity) const;
  Span halo_below(int parity) const;

 private:
  static Span part(const Span& both, const FieldShape& shape, int parity) {
    return both.slice(static_cast<std::size_t>(parity) * shape.bytes(), shape.bytes());
  }

  HaloGrid grid_;
  Ring ring_;
  FieldShape shape_;
  OfferedMemory fields_;
};

// Semaphores of a rank for each side and parity: "my boundary row is in your halo, and I have read
// mine".
//
//   rank r                          rank r + 1 (below)
//   push last row              -->  upper halo of field q
//   signal (above, q) there    -->  wait (above, q), set back to 0
//   wait (below, q)            <--  signal (below, q) there, after the push of its first row
//
// One semaphore a side and parity is enough. Whoever has heard its neighbour's signal of iteration
// k knows that the neighbour has read the halo that iteration k + 1 writes, for it signals after
// its boundary rows. And a neighbour signals iteration k + 2, in the same semaphore, only after
// this rank's signal of k + 1, which follows the wait for k. With one semaphore for both parities
// its signal of k + 1 could come before that wait has set the semaphore back, and be lost.
class RingSemaphores {
 public:
  // Collective: every rank constructs it inside Team::each().
  RingSemaphores(Rank& rank, const Ring& ring);

  // At this rank, signalled by its neighbour on that side; and at that neighbour, for this rank.
  Semaphore from(SideOfRank side, int parity) const { return at(rank_, side, parity); }
  Semaphore to(SideOfRank side, int parity) const;

  DeviceWaits& waits() { return all_; }

 private:
  Semaphore at(int owner, SideOfRank side, int parity) const {
    return {all_.at(owner, 2 * static_cast<int>(side) + parity)};
  }

  int rank_;
  Ring ring_;
  PeerSemaphores all_;
};

}  // namespace duet
