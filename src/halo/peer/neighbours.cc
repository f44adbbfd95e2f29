#include "halo/peer/neighbours.h"

namespace duet {
namespace {

FieldShape shape_of(const HaloGrid& grid, int index) {
  return {grid.nx, rows_of(grid, index).count};
}

// The place in the ring of a neighbour.
int index_beside(const HaloGrid& grid, const Ring& ring, int step) {
  return (ring.index + step + grid.ranks) % grid.ranks;
}

}  // namespace

PeerFields::PeerFields(Rank& rank, const HaloGrid& grid)
    : grid_(grid),
      ring_(ring_of(rank, grid)),
      shape_(shape_of(grid, ring_.index)),
      fields_(
          rank, [&] { return rank.device.allocate(2 * shape_.bytes()); },
          "the other ranks' fields") {}

Span PeerFields::halo_above(int parity) const {
  const FieldShape theirs = shape_of(grid_, index_beside(grid_, ring_, -1));
  return row_at(part(fields_.at(ring_.above), theirs, parity), theirs, theirs.rows + 1);
}

Span PeerFields::halo_below(int parity) const {
  const FieldShape theirs = shape_of(grid_, index_beside(grid_, ring_, 1));
  return row_at(part(fields_.at(ring_.below), theirs, parity), theirs, 0);
}

RingSemaphores::RingSemaphores(Rank& rank, const Ring& ring)
    : rank_(rank.index), ring_(ring), all_(rank, 4) {}

// For the neighbour above, this rank is the one below.
Semaphore RingSemaphores::to(SideOfRank side, int parity) const {
  return side == SideOfRank::above ? at(ring_.above, SideOfRank::below, parity)
                                   : at(ring_.below, SideOfRank::above, parity);
}

}  // namespace duet
