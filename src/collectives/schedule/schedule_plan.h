// Runs a rank's part of a schedule: a list of calls to streams that is made once, with the memory
// and the semaphores that they need.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"
#include "collectives/schedule/schedule.h"

namespace duet {

class SchedulePlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each() with its part of the same schedule.
  // Lane i > 0 is `lanes[i - 1]`. Throws Unreachable on all ranks where one cannot map memory that
  // the schedule writes.
  SchedulePlan(Rank& rank, const RankSchedule& schedule, const CollectiveBuffers& buffers,
               std::vector<Stream*> lanes, Watchdog& watchdog);

  void enqueue(Stream& stream) override;
  void poison_staging() override;
  std::string algorithm() const override { return algorithm_; }

 private:
  struct Record {
    Event* event;
  };
  struct WaitFor {
    Event* event;
  };
  struct Call {
    int lane;
    std::variant<Copy, Handshake, Record, WaitFor> what;
  };

  Span span_of(const Place& place) const;
  Semaphore semaphore_of(const RankSchedule& schedule, const SemaphoreAt& at) const;
  void set_initial_values(const RankSchedule& schedule);
  void add_step(const RankSchedule& schedule, int step);
  void add_handshake(int lane, Handshake handshake);
  void wait_for_steps(const RankSchedule& schedule, int step);
  Event& event_behind(const RankSchedule& schedule, int step);

  Device& device_;
  const std::string algorithm_;
  const Span send_, recv_;
  const std::vector<Stream*> lanes_;
  // Before the semaphores: where it fails, no rank has mapped another's.
  std::optional<PeerMemory> all_recv_;
  SpacedPeerSemaphores semaphores_;
  std::optional<OfferedMemory> slots_;
  std::map<int, std::unique_ptr<Event>> events_;  // by the step that has ended then
  std::vector<Call> calls_;
  Watched watched_;
};

}  // namespace duet
