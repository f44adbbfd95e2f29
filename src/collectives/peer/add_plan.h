// A reduce_scatter, or the first half of an all_reduce, whose parts are added where they arrive:
// each rank's part of the result begins as a copy of its own elements, and the other ranks add
// theirs to it, one after the other. There are no staging slots, and nothing is read over a link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/peer/lanes.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"
#include "device/collective_kernel.h"

namespace duet {

// Of a kernel that adds, each of one warp. In a program of its own, two H200 added bf16 at 304 GB/s
// with 8 blocks, 312 with 16 and 328 with all of 132.
inline constexpr int kAddingBlocks = 16;

// Pieces of a part: adding begins when the first of the own elements have been copied.
inline constexpr std::uint64_t kAddedPiece = 32 << 20;

// How `dma` reduces, as DUET_REDUCTIONS says.
enum class Reductions {
  automatic,  // in flight where it was measured to be the faster way, else through slots
  slots,
  in_flight,  // wherever devices and buffers allow it
};

// Throws UsageError for a value that is none of auto, the default, slots and in-flight.
Reductions chosen_reductions();

// Whether this rank's device and buffers allow it, and the result is as exact as that of adding up
// in fp32: sums of int32 and fp32, and of other types by two ranks, where one rounding is left.
bool can_add(const Rank& rank, const Collective& collective, const CollectiveBuffers& buffers);

class AddPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). Throws Unreachable on all ranks if
  // one cannot map another's receive buffer.
  AddPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
          SideStreams& lanes, Watchdog& watchdog, std::uint64_t largest_piece = kAddedPiece);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  // A piece of the own part, copied to where the others add; then the first of them may add to it.
  struct OwnPiece {
    std::vector<Copy> copies;  // none in place
    Handshake ready;
  };

  Semaphore turn(int owner, int step, std::size_t piece) const;
  Semaphore done(int owner) const;
  // Piece `piece` of a rank's part, where its part may be shorter than the longest.
  ByteRange piece_of(int rank, std::size_t piece) const;
  void plan_own(const CollectiveBuffers& buffers);
  LocalKernelItem addition(const CollectiveBuffers& buffers, int step, std::size_t piece) const;

  int rank_, ranks_;
  std::vector<ByteRange> parts_;        // of what is reduced, by rank
  std::vector<ByteRange> pieces_;       // of the longest part
  std::vector<std::uint64_t> targets_;  // where in its receive buffer a rank's part goes, by rank
  PeerMemory recv_;  // before the semaphores: where it fails, no rank has mapped another's
  PeerSemaphores words_;
  SideStreams& lanes_;
  std::vector<OwnPiece> own_;
  std::unique_ptr<PreparedKernel> adding_;
  Handshake end_;
  Watched watched_;
};

}  // namespace duet
