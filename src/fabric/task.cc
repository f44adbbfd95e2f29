#include "fabric/task.h"

#include <algorithm>

namespace duet {

bool FabricTask::sends(int process) const {
  if (bidirectional || operation == FabricOperation::send_recv) return true;
  return (operation == FabricOperation::read) != (process == 0);
}

bool FabricTask::receives(int process) const {
  if (bidirectional || operation == FabricOperation::send_recv) return true;
  return (operation == FabricOperation::read) == (process == 0);
}

namespace {

int places_of(const FabricTask& task) {
  return task.places > 0 ? std::min(task.places, task.messages) : task.messages;
}

}  // namespace

std::uint64_t buffer_bytes(const FabricTask& task, int processes) {
  return task.bytes * static_cast<std::uint64_t>(task.all_to_all() ? processes : places_of(task));
}

FabricLoad load_of(const FabricTask& task, int process, int processes) {
  FabricLoad load{task, {}};
  const auto self = static_cast<std::uint64_t>(process);
  for (int i = 0; i < task.messages; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    const int next = (process + 1 + i) % processes;
    const auto peer = static_cast<std::uint64_t>(next);
    if (task.all_to_all()) {
      load.messages.push_back({next, peer * task.bytes, self * task.bytes, peer + self});
    } else {
      const std::uint64_t place = number % static_cast<std::uint64_t>(places_of(task)) * task.bytes;
      load.messages.push_back({1 - process, place, place, number});
    }
  }
  return load;
}

}  // namespace duet
