// Runs a rank's part of a schedule: a list of calls to streams that is made once, with the memory
// and the semaphores that they need.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collectives/schedule/binding.h"
#include "collectives/schedule/schedule.h"
#include "collectives/schedule/stream_calls.h"
#include "collectives/session/peer_plan.h"

namespace duet {

class SchedulePlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each() with its part of the same schedule.
  // Throws Unreachable on all ranks where one cannot map memory that the schedule accesses.
  SchedulePlan(Rank& rank, const RankSchedule& schedule, const CollectiveBuffers& buffers,
               const ScheduleSession& session);

  void enqueue(Stream& stream) override { enqueue_calls(stream, nullptr, nullptr); }
  void enqueue_observed(Stream& stream, StepObserver& observer) override;
  void enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) override;
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply) override {
    enqueue_calls(stream, nullptr, &multiply);
  }
  bool takes_buffers() const override { return takes_buffers_; }
  void enqueue_at(Stream& stream, const BufferAddresses& buffers) override;
  bool multiplies_rows() const override { return multiplies_rows_; }
  bool normalises() const override { return normalises_; }
  void poison_staging() override { binding_.poison(); }
  std::string algorithm() const override { return algorithm_; }
  const RankSchedule* schedule() const override { return kept_ ? &*kept_ : nullptr; }

 private:
  struct Record {
    Event* event;
  };
  struct WaitFor {
    Event* event;
  };
  using Bound = std::variant<Copy, Handshake, Record, WaitFor, PreparedKernel*, WireCall,
                             ComputePart, CallRows>;
  struct Call {
    int lane;
    Bound what;
  };

  Bound bound(const RankSchedule& schedule, const StreamCall& call);
  Event& event_of(int step);
  void enqueue_calls(Stream& stream, const CallCompute* compute, const MultiplyRows* multiply);
  void enqueue_call(const Call& call, Stream& stream, const CallCompute* compute,
                    const MultiplyRows* multiply);
  Stream& lane_of(const Call& call, Stream& stream) const {
    return call.lane == 0 ? stream : *lanes_[index_of(call.lane - 1)];
  }
  void call(const WireCall& call, Stream& stream);
  bool is_of_own_buffers(int ranks) const;
  std::string text_of(const RankSchedule& schedule) const;

  Device& device_;
  const std::optional<RankSchedule> kept_;
  const std::vector<Stream*> lanes_;  // lane i > 0 is the one at i - 1
  const Binding binding_;
  const std::string algorithm_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
  std::map<int, std::unique_ptr<Event>> events_;  // by the step that has ended then
  std::vector<Call> calls_;
  std::vector<std::string> words_;  // what the calls are, where the schedule is kept
  bool computes_ = false;           // the schedule says where
  const bool multiplies_rows_;
  bool normalises_ = false;
  bool takes_buffers_ = false;
};

}  // namespace duet
