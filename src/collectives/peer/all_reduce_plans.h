// An all_reduce in two halves: each rank reduces its part, and then pushes it to all.
#pragma once

#include <memory>

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

// The whole: a first half, and then spread(), or staged_moves() where receive buffers cannot be
// mapped.
class SpreadPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). `first` does what spread() expects;
  // `out_of_step`: SpreadOptions.
  SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             SideStreams& lanes, Watchdog& watchdog, std::unique_ptr<CollectivePlan> first,
             bool out_of_step);

  void enqueue(Stream& stream) override;
  void poison_staging() override;
  std::string algorithm() const override;

 private:
  std::unique_ptr<CollectivePlan> first_, second_;
};

}  // namespace duet
