// A reduce_scatter, or the first half of an all_reduce, whose bytes move by copy engines. Pieces
// are pushed into staging slots of the rank that reduces them, and a kernel of few blocks reduces
// each piece when all ranks' copies of it have arrived.
#pragma once

#include <memory>
#include <vector>

#include "collectives/peer/lanes.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/peer_plan.h"
#include "collectives/peer/staging.h"
#include "device/collective_kernel.h"

namespace duet {

class ReducePlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). The last of the lanes is for the
  // kernel that reduces.
  ReducePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             SideStreams& lanes, Watchdog& watchdog, StagingPool& pool,
             std::uint64_t largest_piece = kLargestPiece);

  void enqueue(Stream& stream) override;
  void poison_staging() override { shared_->staging.poison(); }
  std::string algorithm() const override;

 private:
  // Where each rank's part lies in what it reduces, and its pieces; in bytes.
  struct RankParts {
    RankParts(const Collective& collective, int ranks, std::uint64_t largest);
    std::uint64_t begin(int rank) const { return begins[static_cast<std::size_t>(rank)]; }
    const std::vector<ByteRange>& of(int rank) const {
      return pieces[static_cast<std::size_t>(rank)];
    }

    std::vector<std::uint64_t> begins;
    std::vector<std::vector<ByteRange>> pieces;
    std::size_t most_pieces = 0;  // of any rank
    std::uint64_t largest_piece = 0;
  };

  int slot_of(std::size_t piece) const { return static_cast<int>(piece) % slots_; }
  Span in_slot(int owner, int source, std::size_t piece, std::uint64_t bytes) const;
  void add(int step, CopyStep copy);
  void push(std::size_t piece);
  LocalKernelItem reduced(std::size_t piece) const;

  RankParts parts_;
  std::uint64_t target_ = 0;  // where in the receive buffer the own part goes, bytes
  CollectiveBuffers buffers_;
  SideStreams& lanes_;
  int slots_;
  std::shared_ptr<StagingPool::Watched> shared_;
  Staging& staging_;
  std::vector<int> shifts_;  // by rank: how its own part is aligned, in bytes past 16
  CopySteps copies_;
  std::unique_ptr<PreparedKernel> reduction_;
};

}  // namespace duet
