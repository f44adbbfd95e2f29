// Runs a rank's part of a schedule: a list of calls to streams that is made once, with the memory
// and the semaphores that they need.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "collectives/peer/peer_plan.h"
#include "collectives/schedule/schedule.h"
#include "collectives/schedule/schedule_memory.h"
#include "device/collective_kernel.h"

namespace duet {

// What a session has for its plans.
struct ScheduleSession {
  std::vector<Stream*> lanes;  // lane i > 0 is the one at i - 1
  Watchdog& watchdog;
  ScheduleMemoryPool* pool = nullptr;  // of memory that plans may share
};

class SchedulePlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each() with its part of the same schedule.
  // Throws Unreachable on all ranks where one cannot map memory that the schedule writes.
  SchedulePlan(Rank& rank, const RankSchedule& schedule, const CollectiveBuffers& buffers,
               ScheduleSession session);

  void enqueue(Stream& stream) override;
  void poison_staging() override { memory_->poison(); }
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
    std::variant<Copy, Handshake, Record, WaitFor, PreparedKernel*> what;
  };

  Span span_of(const Place& place) const;
  std::vector<Semaphore> semaphores_of(const std::vector<SemaphoreAt>& list) const;
  void add_kernel(int rank, int lane, const StepKernel& kernel);
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
  std::shared_ptr<ScheduleMemory> memory_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
  std::map<int, std::unique_ptr<Event>> events_;  // by the step that has ended then
  std::vector<Call> calls_;
};

}  // namespace duet
