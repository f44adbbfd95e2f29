// An all_reduce in two halves: a plan that leaves each rank's part of the result in its receive
// buffer, and then pushes of it to all, through slots where receive buffers cannot be mapped.
#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/peer/copy_steps.h"
#include "collectives/peer/semaphores.h"
#include "collectives/peer/staged_move_plan.h"

namespace duet {

class SpreadPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank. When `first` has ended on a rank, that rank may write its
  // part in all receive buffers: their ranks have come to the call, and nobody still reads there.
  // Out of step: it may end long before it does on others. Behind one link ranks then wait for all,
  // lest they meet at the same receivers: 4 GiB on 4 x H200 take 17.3 ms, and 17.8 to 22 without.
  SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             Lanes& lanes, Watchdog& watchdog, std::unique_ptr<CollectivePlan> first,
             bool out_of_step);
  ~SpreadPlan() override;

  void enqueue(Stream& stream) override;
  void poison_staging() override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

 private:
  void push(const Rank& rank, const Collective& collective);

  Lanes& lanes_;
  Watchdog& watchdog_;
  std::unique_ptr<CollectivePlan> first_;
  const bool out_of_step_;
  std::unique_ptr<PeerMemory> recv_;   // of the pushes
  std::unique_ptr<Semaphores> words_;  // the same: of each rank two for every other
  CopySteps copies_;
  Handshake middle_, end_;
  std::unique_ptr<StagedMovePlan> staged_;  // instead of the pushes
  double wire_bytes_ = 0;
};

}  // namespace duet
