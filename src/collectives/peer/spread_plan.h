// An all_reduce in two halves: a plan that leaves each rank's part of the result in its receive
// buffer, and then pushes of it to all.
#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/peer/copy_steps.h"
#include "collectives/peer/words.h"

namespace duet {

class SpreadPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank. When `first` has ended on a rank, that rank may write its
  // part in all receive buffers: their ranks have come to the call, and nobody still reads there.
  SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             Lanes& lanes, Watchdog& watchdog, std::unique_ptr<CollectivePlan> first);
  ~SpreadPlan() override;

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

 private:
  Lanes& lanes_;
  Watchdog& watchdog_;
  std::unique_ptr<CollectivePlan> first_;
  Words words_;  // of each rank one for every other
  PeerMemory recv_;
  CopySteps copies_;
  Meeting end_;
  double wire_bytes_ = 0;
};

}  // namespace duet
