// A collective that only moves data, through staging slots: for receive buffers that the other
// ranks cannot map, and for all_to_all in place.
#pragma once

#include <vector>

#include "collectives/collective.h"
#include "collectives/peer/lanes.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/peer_plan.h"
#include "collectives/peer/staging.h"

namespace duet {

class StagedMovePlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each() with the same moves, at most one from
  // any rank to any other, and the same largest piece in bytes. A move may be received where the
  // rank's move to that same rank is sent from (all_to_all in place); apart from that, nothing that
  // is received overlaps what is sent.
  StagedMovePlan(Rank& rank, const std::vector<Move>& moves, const CollectiveBuffers& buffers,
                 SideStreams& lanes, Watchdog& watchdog,
                 std::uint64_t largest_piece = kLargestPiece);

  void enqueue(Stream& stream) override;
  void poison_staging() override { staging_.poison(); }
  std::string algorithm() const override;

 private:
  // What goes to one rank or comes from it: the rank's own end of it, cut into pieces.
  struct Route {
    Span span;
    std::vector<ByteRange> pieces;
  };
  // What all ranks have alike.
  struct Sizes {
    Sizes(const std::vector<Move>& moves, std::uint64_t largest_piece);
    std::size_t most_pieces = 0;  // of any move
    std::uint64_t largest = 0;    // piece, in bytes
    int moved = 0;                // from one rank to another
  };

  void take(const std::vector<Move>& moves, const CollectiveBuffers& buffers,
            std::uint64_t largest_piece);
  int slot_of(std::size_t piece) const { return static_cast<int>(piece) % staging_.slots(); }
  bool swaps(int peer) const;
  Semaphore pushed(int peer, std::size_t piece) const;
  void push(std::size_t piece);
  void copy_out_of_slots(std::size_t piece);

  SideStreams& lanes_;
  Sizes sizes_;
  Staging staging_;
  Buffer pushed_;  // semaphores: that a piece has left the rank, which may be overwritten then
  std::vector<Route> sent_, received_;  // by the other rank
  std::vector<Copy> local_;             // within the device
  CopySteps pushes_, copies_out_;       // each has one of a piece for every other rank
  Watched watched_;
};

}  // namespace duet
