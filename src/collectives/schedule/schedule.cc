#include "collectives/schedule/schedule.h"

#include <fmt/format.h>

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
