// An all_reduce in two halves: each rank reduces its part, and then pushes it to all.
#pragma once

#include <memory>
#include <optional>

#include "collectives/peer/lanes.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"

namespace duet {

// A first half over mapped peers: a kernel of few blocks reduces each rank's part into its receive
// buffer. When it ends, all ranks have read what they needed. staged_reduction() is the other first
// half.
class PullPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each().
  PullPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
           Watchdog& watchdog);

  void enqueue(Stream& stream) override { stream.launch(*reduction_); }
  std::string algorithm() const override;

 private:
  PeerMemory send_;       // before the semaphores: where it fails, no rank has mapped another's
  PeerSemaphores words_;  // of the kernels' barriers: at each rank one for every rank and block
  std::unique_ptr<PreparedKernel> reduction_;
  Watched watched_;
};

// The whole: a first half, and then copy engines that push each rank's part to all, through slots
// where receive buffers cannot be mapped.
class SpreadPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). When `first` has ended on a rank,
  // that rank may write its part into all receive buffers: all ranks have come to the call, and
  // nothing still reads there. `out_of_step`: `first` may end long before it does on other ranks.
  // Behind one link the ranks then have a barrier, so that they do not push to one receiver at a
  // time: 4 GiB on 4 x H200 take 17.3 ms with it, 17.8 to 22 without.
  SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             SideStreams& lanes, Watchdog& watchdog, std::unique_ptr<CollectivePlan> first,
             bool out_of_step);

  void enqueue(Stream& stream) override;
  void poison_staging() override;
  std::string algorithm() const override;

 private:
  void push(const Rank& rank, const Collective& collective);

  SideStreams& lanes_;
  std::unique_ptr<CollectivePlan> first_;
  const bool out_of_step_;
  std::unique_ptr<PeerMemory> recv_;             // for pushes; nullptr: through slots
  std::unique_ptr<SpacedPeerSemaphores> words_;  // likewise; at each rank two for every other
  CopySteps copies_;
  Handshake middle_, end_;
  std::unique_ptr<CollectivePlan> staged_;  // instead of the pushes
  std::optional<Watched> watched_;          // words_
};

}  // namespace duet
