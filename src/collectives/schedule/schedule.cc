#include "collectives/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {

std::vector<SemaphoreAt> barrier_signals(const RankSchedule& schedule,
                                         const KernelBarriers& barriers) {
  std::vector<SemaphoreAt> signals;
  for (int step = 1; step < schedule.ranks; ++step) {
    const int peer = (schedule.rank + step) % schedule.ranks;
    signals.push_back({barriers.group, peer, schedule.rank, 0});
  }
  return signals;
}

std::vector<SemaphoreAt> barrier_waits(const RankSchedule& schedule,
                                       const KernelBarriers& barriers) {
  std::vector<SemaphoreAt> waits = barrier_signals(schedule, barriers);
  for (SemaphoreAt& each : waits) std::swap(each.owner, each.peer);
  return waits;
}

namespace {

void move_numbers(Step& step, int steps, int groups, std::uint64_t slot_bytes) {
  const auto move_slot = [slot_bytes](Place& place) {
    if (place.buffer == BufferRole::slots) place.offset += slot_bytes;
  };
  for (StepCopy& copy : step.copies) {
    move_slot(copy.to);
    move_slot(copy.from);
  }
  for (auto* list : {&step.after, &step.after_for_speed}) {
    for (int& earlier : *list) earlier += steps;
  }
  const auto move = [groups](std::vector<SemaphoreAt>& list) {
    for (SemaphoreAt& each : list) each.group += groups;
  };
  move(step.waits);
  move(step.signals);
  for (StepItem& item : step.kernel.items) {
    move(item.waits);
    move(item.signals);
    for (auto* places : {&item.sources, &item.targets}) {
      for (Place& place : *places) move_slot(place);
    }
  }
  if (step.kernel.barriers) step.kernel.barriers->group += groups;
}

}  // namespace

RankSchedule in_a_row(RankSchedule first, const RankSchedule& second) {
  const int groups = static_cast<int>(first.semaphores.size());
  const int steps = static_cast<int>(first.steps.size());
  first.semaphores.insert(first.semaphores.end(), second.semaphores.begin(),
                          second.semaphores.end());
  first.pushes_to_recv = first.pushes_to_recv || second.pushes_to_recv;
  first.reads_send = first.reads_send || second.reads_send;
  first.read_by_others += second.read_by_others;
  for (Step step : second.steps) {
    move_numbers(step, steps, groups, first.slot_bytes);
    first.steps.push_back(std::move(step));
  }
  first.slot_bytes += second.slot_bytes;
  return first;
}

SpeedParts speed_parts_of(const RankSchedule& schedule) {
  SpeedParts has{false, false};
  for (const SemaphoreGroup& group : schedule.semaphores) has.semaphores |= group.only_for_speed;
  for (const Step& step : schedule.steps) {
    const auto& barriers = step.kernel.barriers;
    has.edges |= !step.after_for_speed.empty();
    has.semaphores |= barriers && barriers->closes && barriers->closes_for_speed;
  }
  return has;
}

RankSchedule without(const SpeedParts& parts, RankSchedule schedule) {
  const auto erase = [&](std::vector<SemaphoreAt>& list) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const SemaphoreAt& each) {
                                return schedule.semaphores[index_of(each.group)].only_for_speed;
                              }),
               list.end());
  };
  for (Step& step : schedule.steps) {
    if (parts.edges) step.after_for_speed.clear();
    if (!parts.semaphores) continue;
    erase(step.waits);
    erase(step.signals);
    for (StepItem& item : step.kernel.items) {
      erase(item.waits);
      erase(item.signals);
    }
    auto& barriers = step.kernel.barriers;
    if (barriers && barriers->closes_for_speed) barriers->closes = false;
  }
  return schedule;
}

std::uint64_t wire_bytes_of(const RankSchedule& schedule) {
  std::uint64_t bytes = schedule.read_by_others;
  const auto add = [&](const Place& target) {
    if (target.rank != schedule.rank) bytes += target.bytes;
  };
  for (const Step& step : schedule.steps) {
    for (const StepCopy& copy : step.copies) add(copy.to);
    for (const StepItem& item : step.kernel.items) {
      for (const Place& target : item.targets) add(target);
    }
  }
  return bytes;
}

std::string name(BufferRole buffer) {
  switch (buffer) {
    case BufferRole::send:
      return "send";
    case BufferRole::recv:
      return "recv";
    case BufferRole::slots:
      break;
  }
  return "slots";
}

std::string text_of(const Place& place) {
  return fmt::format("{} of rank {}, {} bytes from {} on", name(place.buffer), place.rank,
                     place.bytes, place.offset);
}

std::string text_of(const RankSchedule& schedule, const SemaphoreAt& semaphore) {
  const SemaphoreGroup& group = schedule.semaphores.at(index_of(semaphore.group));
  const std::string index = group.count == 1 ? "" : fmt::format("[{}]", semaphore.index);
  std::string text = fmt::format("{}{} of rank {}", group.name, index, semaphore.owner);
  if (group.for_every_rank) text += fmt::format(" for rank {}", semaphore.peer);
  return text;
}

int ScheduleWriter::last_of(int lane) const {
  int last = static_cast<int>(schedule_.steps.size()) - 1;
  while (last >= 0 && schedule_.steps[index_of(last)].lane != lane) --last;
  return last;
}

int ScheduleWriter::add(Step step) {
  schedule_.steps.push_back(std::move(step));
  return static_cast<int>(schedule_.steps.size()) - 1;
}

void ScheduleWriter::fork(int first, int count) {
  if (count == 0) return;
  const int from = last_of(0) < 0 ? add({}) : last_of(0);
  for (int lane = first; lane < first + count; ++lane) {
    Step step;
    step.lane = lane;
    step.after = {from};
    add(std::move(step));
  }
}

int ScheduleWriter::join(int first, int count, std::vector<SemaphoreAt> waits) {
  Step step;
  step.waits = std::move(waits);
  for (int lane = first; lane < first + count; ++lane) step.after.push_back(last_of(lane));
  return add(std::move(step));
}

}  // namespace duet
