// The first half of an all_reduce over mapped peers: a kernel of few blocks reduces each rank's
// part into its receive buffer.
#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/peer/semaphores.h"
#include "device/collective_kernel.h"

namespace duet {

class PullPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank.
  PullPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
           Watchdog& watchdog);
  ~PullPlan() override;

  void enqueue(Stream& stream) override { stream.launch(*reduction_); }
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

 private:
  Watchdog& watchdog_;
  PeerMemory send_;   // before the words: where it fails, no rank has another's mapped
  Semaphores words_;  // where the kernels meet: of each rank one for every block
  std::unique_ptr<PreparedKernel> reduction_;
  double wire_bytes_ = 0;
};

}  // namespace duet
