// An all_reduce in two halves: each rank reduces its part, and then pushes it to all.
#pragma once

#include <memory>
#include <optional>

#include "collectives/schedule/binding.h"
#include "collectives/session/peer_plan.h"

namespace duet {

// A first half, and then spread(), or staged_moves() where receive buffers cannot be
// mapped.
class SpreadPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). `first` does what spread() expects;
  // `out_of_step`: SpreadOptions.
  SpreadPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
             const ScheduleSession& session, std::unique_ptr<CollectivePlan> first,
             bool out_of_step);

  void enqueue(Stream& stream) override;
  void poison_staging() override;
  std::string algorithm() const override;
  const RankSchedule* schedule() const override { return kept_ ? &*kept_ : nullptr; }

 private:
  std::unique_ptr<CollectivePlan> first_, second_;
  std::optional<RankSchedule> kept_;
};

}  // namespace duet
