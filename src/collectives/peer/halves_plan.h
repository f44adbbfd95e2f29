// An all_reduce in two halves: each rank reduces its part, and then pushes it to all.
#pragma once

#include <memory>
#include <optional>

#include "collectives/schedule/schedule.h"
#include "collectives/session/peer_plan.h"

namespace duet {

class HalvesPlan : public PeerPlan {
 public:
  // Plans of algorithms that are a first and a second half (algorithm.h).
  HalvesPlan(std::unique_ptr<CollectivePlan> first, std::unique_ptr<CollectivePlan> second);

  void enqueue(Stream& stream) override;
  void enqueue_observed(Stream& stream, StepObserver& observer) override;
  void poison_staging() override;
  std::string algorithm() const override;
  const RankSchedule* schedule() const override { return kept_ ? &*kept_ : nullptr; }

 private:
  std::unique_ptr<CollectivePlan> first_, second_;
  std::optional<RankSchedule> kept_;
};

}  // namespace duet
