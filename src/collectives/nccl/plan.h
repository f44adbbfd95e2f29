#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nccl/communicators.h"
#include "collectives/nccl/windows.h"

namespace duet::nccl {

// One rank's plan of a collective by NCCL.
class NcclPlan : public CollectivePlan {
 public:
  // `windows` is null where the mode has no windows.
  NcclPlan(std::shared_ptr<Communicators> communicators, const Rank& rank,
           const Collective& collective, const CollectiveBuffers& buffers,
           std::unique_ptr<Windows> windows, std::string algorithm);

  // Makes the plan's first call, in which NCCL connects the ranks. Collective and blocking. It
  // overwrites the receive buffer.
  void first_call(Rank& rank, CollectiveKind kind);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override { return algorithm_; }

 private:
  std::shared_ptr<Communicators> communicators_;
  const int local_;
  std::unique_ptr<Windows> windows_;  // declared after the communicators: destroyed before them
  std::shared_ptr<const Calls> calls_;
  const void* send_ = nullptr;
  void* recv_ = nullptr;
  std::string algorithm_;
};

}  // namespace duet::nccl
