#include "collectives/schedule/checker.h"

#include <fmt/format.h>

#include <algorithm>

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

// The plan maps receive buffers of other ranks where the schedule says so, slots, and nothing else.
std::string fault_of_places(const RankSchedule& schedule, int step) {
  std::vector<Place> places;
  for (const StepCopy& copy : schedule.steps[index_of(step)].copies) {
    places.insert(places.end(), {copy.to, copy.from});
  }
  for (const StepItem& item : schedule.steps[index_of(step)].kernel.items) {
    places.push_back(item.target);
    places.insert(places.end(), item.sources.begin(), item.sources.end());
  }
  for (const Place& each : places) {
    const bool mapped = each.buffer == BufferRole::slots ||
                        (each.buffer == BufferRole::recv && schedule.pushes_to_recv);
    if (each.rank == schedule.rank || mapped) continue;
    return fmt::format("step {} of rank {} accesses what is not mapped: {}", step, schedule.rank,
                       text_of(each));
  }
  return "";
}

bool alike(const RankSchedule& one, const RankSchedule& other) {
  const auto same = [](const SemaphoreGroup& a, const SemaphoreGroup& b) {
    return a.count == b.count && a.initial == b.initial && a.only_for_speed == b.only_for_speed &&
           a.for_every_rank == b.for_every_rank;
  };
  return one.ranks == other.ranks && one.slot_bytes == other.slot_bytes &&
         one.pushes_to_recv == other.pushes_to_recv &&
         std::equal(one.semaphores.begin(), one.semaphores.end(), other.semaphores.begin(),
                    other.semaphores.end(), same);
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
  for (const RankSchedule& each : schedule.ranks) {
    if (!alike(each, schedule.ranks.front())) {
      return fmt::format("rank {} has other semaphores, slots or mappings than rank 0", each.rank);
    }
    for (int step = 0; step < static_cast<int>(each.steps.size()); ++step) {
      std::string fault = fault_of_semaphores(each, step);
      if (fault.empty()) fault = fault_of_places(each, step);
      if (!fault.empty()) return fault;
    }
    std::string fault = fault_of_lanes(each);
    if (!fault.empty()) return fault;
  }
  return "";
}

// All that the calls have for speed, and each choice of it that they do without: edges for speed
// must not be what pairs signals for speed, or the other way round.
std::vector<SpeedParts> speed_parts_of(const CheckedCalls& calls) {
  SpeedParts has{false, false};
  for (const CollectiveSchedule* call : calls.order) {
    for (const RankSchedule& each : call->ranks) {
      for (const SemaphoreGroup& group : each.semaphores) has.semaphores |= group.only_for_speed;
      for (const Step& step : each.steps) has.edges |= !step.after_for_speed.empty();
    }
  }
  std::vector<SpeedParts> parts = {has};
  if (has.edges) parts.push_back({false, has.semaphores});
  if (has.semaphores) parts.push_back({has.edges, false});
  if (has.edges && has.semaphores) parts.push_back({false, false});
  return parts;
}

}  // namespace

std::string fault_of(const CheckedCalls& calls) {
  for (const CollectiveSchedule* each : calls.order) {
    std::string fault = fault_of_form(*each);
    if (!fault.empty()) return fault;
  }
  for (const SpeedParts speed : speed_parts_of(calls)) {
    StepOrder order(calls, speed);
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
