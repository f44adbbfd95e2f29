#include "collectives/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace duet {

int mapped_ranks(const RankSchedule& schedule) {
  return schedule.node.empty() ? schedule.ranks : static_cast<int>(schedule.node.size());
}

int number_in(const std::vector<int>& node, int rank) {
  if (node.empty()) return rank;
  return static_cast<int>(std::find(node.begin(), node.end(), rank) - node.begin());
}

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

// Moves what a schedule has behind what another one has.
class MovedBehind {
 public:
  explicit MovedBehind(const RankSchedule& first)
      : groups_(static_cast<int>(first.semaphores.size())),
        steps_(static_cast<int>(first.steps.size())),
        wires_(static_cast<int>(first.wires.size())),
        slots_(first.slot_bytes),
        scratch_(first.scratch_bytes) {}

  void move(Step& step) const {
    for (StepCopy& copy : step.copies) {
      move(copy.to);
      move(copy.from);
    }
    for (auto* list : {&step.after, &step.after_for_speed}) {
      for (int& earlier : *list) earlier += steps_;
    }
    move(step.waits);
    move(step.signals);
    for (StepItem& item : step.kernel.items) {
      move(item.waits);
      move(item.signals);
      for (auto* places : {&item.sources, &item.targets}) {
        for (Place& place : *places) move(place);
      }
    }
    if (step.kernel.barriers) step.kernel.barriers->group += groups_;
    if (step.wire) step.wire->wire += wires_;
  }

  void move(WireMessages& wire) const {
    for (int* group : {&wire.go, &wire.gone, &wire.come}) *group += groups_;
    for (StepMessage& message : wire.messages) {
      for (StepMessagePiece& piece : message.pieces) move(piece.source);
    }
  }

 private:
  void move(Place& place) const {
    if (place.buffer == BufferRole::slots) place.offset += slots_;
    if (place.buffer == BufferRole::scratch) place.offset += scratch_;
  }

  void move(std::vector<SemaphoreAt>& list) const {
    for (SemaphoreAt& each : list) each.group += groups_;
  }

  const int groups_, steps_, wires_;
  const std::uint64_t slots_, scratch_;
};

}  // namespace

RankSchedule in_a_row(RankSchedule first, const RankSchedule& second) {
  const MovedBehind moved(first);
  first.semaphores.insert(first.semaphores.end(), second.semaphores.begin(),
                          second.semaphores.end());
  first.pushes_to_recv = first.pushes_to_recv || second.pushes_to_recv;
  first.reads_send = first.reads_send || second.reads_send;
  first.read_by_others += second.read_by_others;
  for (Step step : second.steps) {
    moved.move(step);
    first.steps.push_back(std::move(step));
  }
  for (WireMessages wire : second.wires) {
    moved.move(wire);
    first.wires.push_back(std::move(wire));
  }
  first.slot_bytes += second.slot_bytes;
  first.scratch_bytes += second.scratch_bytes;
  first.incoming_bytes += second.incoming_bytes;
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

std::uint64_t network_bytes_of(const RankSchedule& schedule,
                               const std::function<bool(int rank)>& beyond_node) {
  std::uint64_t bytes = 0;
  for (const WireMessages& wire : schedule.wires) {
    for (const StepMessage& message : wire.messages) {
      for (const StepMessagePiece& piece : message.pieces) bytes += piece.source.bytes;
    }
  }
  const auto add = [&](const Place& target) {
    if (target.rank != schedule.rank && beyond_node(target.rank)) bytes += target.bytes;
  };
  for (const Step& step : schedule.steps) {
    for (const StepCopy& copy : step.copies) add(copy.to);
    for (const StepItem& item : step.kernel.items) {
      for (const Place& target : item.targets) add(target);
    }
  }
  return bytes;
}

std::uint64_t wire_bytes_of(const RankSchedule& schedule) {
  return schedule.read_by_others + network_bytes_of(schedule, [](int) { return true; });
}

std::string name(BufferRole buffer) {
  switch (buffer) {
    case BufferRole::send:
      return "send";
    case BufferRole::recv:
      return "recv";
    case BufferRole::slots:
      return "slots";
    case BufferRole::scratch:
      return "scratch";
    case BufferRole::incoming:
      break;
  }
  return "incoming";
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
