// The semaphores, staging slots and packet buffers of a schedule at all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/schedule/schedule.h"
#include "collectives/session/peer_semaphores.h"
#include "team/peer_memory.h"

namespace duet {

class ScheduleMemory {
 public:
  // Collective: every rank constructs it inside Team::each() for its part of the same schedule. The
  // rank's team is that of the ranks that map each other's memory. `semaphores`: where those lie
  // that streams wait for.
  ScheduleMemory(Rank& rank, const RankSchedule& schedule, Watchdog& watchdog,
                 MemoryKind semaphores = MemoryKind::device);

  Semaphore at(const SemaphoreAt& semaphore) const;
  const Span& slots(int rank) const { return slots_->at(number_in(node_, rank)); }
  // The packet buffer at `owner` that `source` writes.
  Span packets(int owner, int source) const { return packets_->at(owner, source); }
  // Blocking, while no rank is in a call: overwrites this rank's slots.
  void poison();

 private:
  void set_initial_values(int rank, int ranks);

  Device& device_;
  const std::vector<SemaphoreGroup> groups_;
  const std::vector<int> node_;
  std::vector<int> first_;                          // by group
  std::optional<SpacedPeerSemaphores> semaphores_;  // that streams wait for
  std::optional<PeerSemaphores> words_;             // that blocks of kernels wait for
  std::optional<PacketBuffers> packets_;
  std::optional<OfferedMemory> slots_;
  std::optional<Watched> watched_, watched_words_;
};

// Each plan has its own memory, or, while sharing is on, all plans whose schedules may share theirs
// and are of the same sizes have the same. A call leaves the semaphores as it found them, so that
// the next call may be another plan's.
class ScheduleMemoryPool {
 public:
  // After sharing is switched off, shared memory is freed with the last plan that uses it.
  void share(bool on);
  bool shares() const { return shares_; }
  // Collective, as ScheduleMemory().
  std::shared_ptr<ScheduleMemory> memory(Rank& rank, const RankSchedule& schedule,
                                         Watchdog& watchdog);

 private:
  using Sizes = std::pair<std::uint64_t, std::vector<std::tuple<int, int, bool>>>;

  bool shares_ = false;
  std::map<Sizes, std::shared_ptr<ScheduleMemory>> shared_;
};

}  // namespace duet
