#include "collectives/schedule/checker.h"

#include <fmt/format.h>

#include "collectives/schedule/contents.h"
#include "collectives/schedule/step_order.h"

namespace duet {
namespace {

std::string fault_of_semaphores(const RankSchedule& schedule, int step,
                                const std::vector<SemaphoreAt>& list, bool waits) {
  for (const SemaphoreAt& each : list) {
    const auto in = [](int number, int count) { return number >= 0 && number < count; };
    const bool exists = in(each.group, static_cast<int>(schedule.semaphores.size())) &&
                        in(each.owner, schedule.ranks) && in(each.peer, schedule.ranks) &&
                        in(each.index, schedule.semaphores[index_of(each.group)].count);
    if (!exists) {
      return fmt::format("step {} of rank {}: a semaphore that does not exist", step,
                         schedule.rank);
    }
    if (!waits || each.owner == schedule.rank) continue;
    return fmt::format("step {} of rank {}: waits for {}, which is not its own", step,
                       schedule.rank, text_of(schedule, each));
  }
  return "";
}

std::string fault_of_semaphores(const RankSchedule& schedule, int step) {
  const Step& one = schedule.steps[index_of(step)];
  std::vector<SemaphoreAt> waits = one.waits, signals = one.signals;
  for (const StepItem& item : one.kernel.items) {
    waits.insert(waits.end(), item.waits.begin(), item.waits.end());
    signals.insert(signals.end(), item.signals.begin(), item.signals.end());
  }
  std::string fault = fault_of_semaphores(schedule, step, waits, true);
  return fault.empty() ? fault_of_semaphores(schedule, step, signals, false) : fault;
}

// That events alone tie every lane to the caller's stream.
std::string fault_of_lanes(const RankSchedule& schedule) {
  const int count = static_cast<int>(schedule.steps.size());
  std::vector<std::vector<int>> earlier(index_of(count));
  std::vector<int> last;  // by lane
  for (int step = 0; step < count; ++step) {
    const Step& one = schedule.steps[index_of(step)];
    last.resize(std::max(last.size(), index_of(one.lane) + 1), -1);
    if (last[index_of(one.lane)] >= 0) earlier[index_of(step)].push_back(last[index_of(one.lane)]);
    last[index_of(one.lane)] = step;
    for (const auto* list : {&one.after, &one.after_for_speed}) {
      for (const int after : *list) {
        if (after < 0 || after >= step) {
          return fmt::format("step {} of rank {} is after step {}, which is not enqueued before it",
                             step, schedule.rank, after);
        }
        if (list == &one.after) earlier[index_of(step)].push_back(after);
      }
    }
  }
  std::vector<bool> forked(index_of(count)), joined(index_of(count));
  for (int step = 0; step < count; ++step) {
    forked[index_of(step)] = schedule.steps[index_of(step)].lane == 0;
    for (const int before : earlier[index_of(step)])
      forked[index_of(step)] = forked[index_of(step)] || forked[index_of(before)];
    if (!forked[index_of(step)]) {
      return fmt::format("step {} of rank {}: its lane does not fork from the caller's stream",
                         step, schedule.rank);
    }
  }
  for (int step = count - 1; step >= 0; --step) {
    if (schedule.steps[index_of(step)].lane == 0) joined[index_of(step)] = true;
    if (!joined[index_of(step)]) {
      return fmt::format("step {} of rank {}: its lane does not join the caller's stream", step,
                         schedule.rank);
    }
    for (const int before : earlier[index_of(step)]) joined[index_of(before)] = true;
  }
  return "";
}

std::string fault_of_form(const CollectiveSchedule& schedule) {
  const RankSchedule& first = schedule.ranks.front();
  for (const RankSchedule& each : schedule.ranks) {
    const bool same = each.ranks == first.ranks && each.slot_bytes == first.slot_bytes &&
                      each.semaphores.size() == first.semaphores.size();
    if (!same) return fmt::format("rank {} has other semaphores or slots than rank 0", each.rank);
    for (std::size_t step = 0; step < each.steps.size(); ++step) {
      std::string fault = fault_of_semaphores(each, static_cast<int>(step));
      if (!fault.empty()) return fault;
    }
    std::string fault = fault_of_lanes(each);
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace

std::string fault_of(const CheckedCalls& calls) {
  for (const CollectiveSchedule* each : calls.order) {
    std::string fault = fault_of_form(*each);
    if (!fault.empty()) return fault;
  }
  for (const bool with_speed : {true, false}) {
    StepOrder order(calls, with_speed);
    std::string fault = order.fault();
    if (fault.empty()) fault = fault_of_contents(calls, order);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string fault_of(const CollectiveSchedule& schedule) {
  return fault_of(CheckedCalls{{&schedule, &schedule}, false});
}

}  // namespace duet
