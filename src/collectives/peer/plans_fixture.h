// For tests: a rank's plan of an algorithm of the test's choice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/peer/call_facts.h"
#include "collectives/schedule/schedule_plan.h"

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

}  // namespace duet
