// One rank's part of a collective by NCCL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nccl/communicators.h"
#include "collectives/nccl/windows.h"

namespace duet::nccl {

class NcclPlan : public CollectivePlan {
 public:
  // Without windows, `windows` is null.
  NcclPlan(std::shared_ptr<Communicators> communicators, const Rank& rank,
           const Collective& collective, const CollectiveBuffers& buffers,
           std::unique_ptr<Windows> windows, std::string algorithm);

  // Collective: the call in which NCCL connects the ranks, and so blocks.
  void first_call(Rank& rank, CollectiveKind kind);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override { return algorithm_; }

 private:
  std::shared_ptr<Communicators> communicators_;
  const int local_;
  std::unique_ptr<Windows> windows_;  // ends before the communicators
  std::shared_ptr<const Calls> calls_;
  const void* send_ = nullptr;
  void* recv_ = nullptr;
  std::string algorithm_;
};

}  // namespace duet::nccl
