// For tests: a rank's plan of an algorithm of the test's choice, and a session whose reductions
// begin with one, at any size.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/peer/call_facts.h"
#include "collectives/peer/halves_plan.h"
#include "collectives/schedule/schedule_plan.h"
#include "collectives/session/calls_fixture.h"

namespace duet {

// Collective: every rank calls it inside Team::each(). `change` sets what the test wants otherwise.
inline std::unique_ptr<CollectivePlan> plan_by(
    const Algorithm& algorithm, Rank& rank, const Collective& collective,
    const CollectiveBuffers& buffers, const ScheduleSession& session,
    const std::function<void(AlgorithmInput&)>& change = [](AlgorithmInput&) {}) {
  const auto facts = rank.team.gather(rank, call_facts(rank, collective, buffers, true).text(),
                                      "all ranks to plan a collective");
  const CopyLanes copying = session.lanes == nullptr ? CopyLanes{} : session.lanes->copying();
  AlgorithmInput input =
      algorithm_input(rank, collective, buffers, copying, CallFacts::of_all(*facts));
  change(input);
  return std::make_unique<SchedulePlan>(rank, algorithm.schedule(input), buffers, session);
}

class ReductionSession : public CollectiveSession {
 public:
  // In pieces of at most so many bytes; 0: as the algorithm chooses.
  ReductionSession(Team& team, const Algorithm& first, std::uint64_t largest_piece = 0)
      : watchdog_(team),
        first_(first),
        largest_piece_(largest_piece),
        pools_(static_cast<std::size_t>(team.local_size())) {
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
    const auto local = static_cast<std::size_t>(rank.local);
    const ScheduleSession session{watchdog_, lanes_[local].get(), &pools_[local]};
    const auto pieces = [this](AlgorithmInput& input) { input.largest_piece = largest_piece_; };
    auto first = plan_by(first_, rank, collective, buffers, session, pieces);
    if (collective.kind == CollectiveKind::reduce_scatter) return first;
    const auto late = [](AlgorithmInput& input) { input.out_of_step = true; };
    auto second = plan_by(spread(), rank, collective, {buffers.recv, buffers.recv}, session, late);
    return std::make_unique<HalvesPlan>(std::move(first), std::move(second));
  }

 private:
  Watchdog watchdog_;
  const Algorithm first_;
  const std::uint64_t largest_piece_;
  std::vector<std::unique_ptr<SideStreams>> lanes_;
  std::vector<ScheduleMemoryPool> pools_;  // by local rank
};

}  // namespace duet
