#include "collectives/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {

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
  const SemaphoreGroup& group = schedule.semaphores.at(static_cast<std::size_t>(semaphore.group));
  const std::string index = group.count == 1 ? "" : fmt::format("[{}]", semaphore.index);
  std::string text = fmt::format("{}{} of rank {}", group.name, index, semaphore.owner);
  if (group.for_every_rank) text += fmt::format(" for rank {}", semaphore.peer);
  return text;
}

RankSchedule in_a_row(RankSchedule first, const RankSchedule& second) {
  const int groups = static_cast<int>(first.semaphores.size());
  const int steps = static_cast<int>(first.steps.size());
  const auto move = [groups](std::vector<SemaphoreAt>& list) {
    for (SemaphoreAt& each : list) each.group += groups;
  };
  first.semaphores.insert(first.semaphores.end(), second.semaphores.begin(),
                          second.semaphores.end());
  first.slot_bytes = std::max(first.slot_bytes, second.slot_bytes);
  first.pushes_to_recv = first.pushes_to_recv || second.pushes_to_recv;
  for (Step step : second.steps) {
    for (auto* list : {&step.after, &step.after_for_speed}) {
      for (int& earlier : *list) earlier += steps;
    }
    move(step.waits);
    move(step.signals);
    for (StepItem& item : step.kernel.items) {
      move(item.waits);
      move(item.signals);
    }
    first.steps.push_back(std::move(step));
  }
  return first;
}

int ScheduleWriter::last_of(int lane) const {
  int last = static_cast<int>(schedule_.steps.size()) - 1;
  while (last >= 0 && schedule_.steps[static_cast<std::size_t>(last)].lane != lane) --last;
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
