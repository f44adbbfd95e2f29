#include "collectives/schedule/schedule_memory.h"

#include "collectives/peer/staging.h"

namespace duet {
namespace {

int semaphores_of(const RankSchedule& schedule) {
  int count = 0;
  for (const SemaphoreGroup& group : schedule.semaphores) count += group.total(schedule.ranks);
  return count;
}

}  // namespace

ScheduleMemory::ScheduleMemory(Rank& rank, const RankSchedule& schedule, Watchdog& watchdog)
    : device_(rank.device),
      groups_(schedule.semaphores),
      semaphores_(rank, semaphores_of(schedule)),
      watched_(watchdog, semaphores_) {
  int first = 0;
  for (const SemaphoreGroup& group : groups_) {
    first_.push_back(first);
    const int behind = first + group.total(schedule.ranks);
    for (; first < behind; ++first) {
      if (group.initial != 0) device_.signal(semaphores_.at(rank.index, first), 1);
    }
  }
  if (schedule.slot_bytes == 0) return;
  slots_.emplace(
      rank, [&] { return device_.allocate_coherent(schedule.slot_bytes); },
      "the other ranks' staging memory");
}

Semaphore ScheduleMemory::at(const SemaphoreAt& semaphore) const {
  const int count = groups_[index_of(semaphore.group)].count;
  return semaphores_.at(semaphore.owner, first_[index_of(semaphore.group)] +
                                             semaphore.peer * count + semaphore.index);
}

void ScheduleMemory::poison() {
  if (slots_) poison_slots(device_, slots_->own().span());
}

void ScheduleMemoryPool::share(bool on) {
  shares_ = on;
  shared_.clear();
}

std::shared_ptr<ScheduleMemory> ScheduleMemoryPool::memory(Rank& rank, const RankSchedule& schedule,
                                                           Watchdog& watchdog) {
  const auto make = [&] { return std::make_shared<ScheduleMemory>(rank, schedule, watchdog); };
  if (!shares_ || schedule.slot_bytes == 0) return make();
  Sizes sizes{schedule.slot_bytes, {}};
  for (const SemaphoreGroup& group : schedule.semaphores) {
    sizes.second.emplace_back(group.count, group.initial, group.for_every_rank);
  }
  std::shared_ptr<ScheduleMemory>& shared = shared_[std::move(sizes)];
  if (shared == nullptr) shared = make();
  return shared;
}

}  // namespace duet
