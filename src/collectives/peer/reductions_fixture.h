// A session whose reductions begin with a plan of the test's choice, at any size.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/peer/all_reduce_plans.h"
#include "collectives/session/calls_fixture.h"

namespace duet {

// Makes the plan of a reduce_scatter, or of the first half of an all_reduce.
using MakeFirst = std::function<std::unique_ptr<CollectivePlan>(
    Rank&, const Collective&, const CollectiveBuffers&, const ScheduleSession&)>;

class ReductionSession : public CollectiveSession {
 public:
  ReductionSession(Team& team, MakeFirst make) : watchdog_(team), make_(std::move(make)) {
    for (int local = 0; local < team.local_size(); ++local) {
      lanes_.push_back(
          std::make_unique<SideStreams>(team.local_rank(local).device, CopyLanes{2, true}));
    }
  }
  std::optional<Skipped> unsupported(const Collective&, bool) const override {
    return std::nullopt;
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    const ScheduleSession session{watchdog_, lanes_[static_cast<std::size_t>(rank.local)].get()};
    auto first = make_(rank, collective, buffers, session);
    if (collective.kind == CollectiveKind::reduce_scatter) return first;
    return std::make_unique<SpreadPlan>(rank, collective, buffers, session, std::move(first), true);
  }

 private:
  Watchdog watchdog_;
  MakeFirst make_;
  std::vector<std::unique_ptr<SideStreams>> lanes_;
};

}  // namespace duet
