#include "collectives/schedule/schedule_memory.h"

namespace duet {
namespace {

std::uint64_t packet_bytes_of(const RankSchedule& schedule) {
  for (const Step& step : schedule.steps) {
    if (!step.kernel.packets.empty()) return step.kernel.packets.front().source.bytes;
  }
  return 0;
}

}  // namespace

ScheduleMemory::ScheduleMemory(Rank& rank, const RankSchedule& schedule, Watchdog& watchdog,
                               MemoryKind semaphores)
    : device_(rank.device), groups_(schedule.semaphores), node_(schedule.node) {
  const int ranks = mapped_ranks(schedule);
  int streams = 0, blocks = 0;
  for (const SemaphoreGroup& group : groups_) {
    int& next = group.blocks > 0 ? blocks : streams;
    first_.push_back(next);
    next += group.words(ranks);
  }
  if (streams > 0) {
    semaphores_.emplace(rank, streams, semaphores);
    watched_.emplace(watchdog, *semaphores_);
  }
  if (blocks > 0) {
    words_.emplace(rank, blocks);
    watched_words_.emplace(watchdog, *words_);
  }
  set_initial_values(rank.index, ranks);
  if (const std::uint64_t bytes = packet_bytes_of(schedule); bytes > 0) {
    packets_.emplace(rank, packet_buffer_bytes(bytes));
  }
  if (schedule.slot_bytes == 0) return;
  slots_.emplace(
      rank, [&] { return device_.allocate_coherent(schedule.slot_bytes); },
      "the other ranks' staging memory");
}

void ScheduleMemory::set_initial_values(int rank, int ranks) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].initial == 0) continue;
    const int behind = first_[group] + groups_[group].words(ranks);
    for (int word = first_[group]; word < behind; ++word) {
      device_.signal(semaphores_->at(rank, word), 1);
    }
  }
}

Semaphore ScheduleMemory::at(const SemaphoreAt& semaphore) const {
  const SemaphoreGroup& group = groups_[index_of(semaphore.group)];
  const int first = first_[index_of(semaphore.group)];
  const int owner = number_in(node_, semaphore.owner);
  const int peer = group.for_every_rank ? number_in(node_, semaphore.peer) : 0;
  const int index = peer * group.count + semaphore.index;
  if (group.blocks == 0) return semaphores_->at(owner, first + index);
  return {words_->at(owner, first + index * group.blocks, group.blocks)};
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
  if (!shares_ || !schedule.may_share_memory) return make();
  Sizes sizes{schedule.slot_bytes, {}};
  for (const SemaphoreGroup& group : schedule.semaphores) {
    sizes.second.emplace_back(group.count, group.initial, group.for_every_rank);
  }
  std::shared_ptr<ScheduleMemory>& shared = shared_[std::move(sizes)];
  if (shared == nullptr) shared = make();
  return shared;
}

}  // namespace duet
