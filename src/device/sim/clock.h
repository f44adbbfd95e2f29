#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "device/sim/event_queue.h"
#include "device/sim/flow.h"
#include "device/sim/flow_rates.h"

namespace duet::sim {

// The clock of a simulated machine: timers, and flows that share resources. Time jumps from one
// event to the next. Whenever a flow comes or goes the rates of all that are linked to it, by
// shared resources, are worked out again.
//
// Not thread-safe. Events at one time happen in the order in which they were asked for. While there
// are more than 2048 flows, one may end late by 1/512 of the time that it takes. Where memory is
// short after(), start() and watch() throw and leave nothing behind; cancel() never throws.
class VirtualClock {
 public:
  using Id = EventQueue::Id;  // of a pending timer or flow; never used again

  double now() const { return queue_.now(); }
  int add_resource(double capacity_per_second);

  Id after(double seconds, Action action);
  Id start(Flow flow, Action done);
  void cancel(Id id) noexcept;  // no-op if it has happened
  // Lets `reached` happen when no more than `left` of a flow's amount is left; the flow goes on.
  // One at a time for a flow: a later one replaces it.
  void watch(Id flow, double left, Action reached);
  double left(Id flow) const;  // of its amount, now; 0 if it has ended

  // The time of the next event; infinity if there is none. Flows that get no rate make no event.
  double next();
  // Lets the events of the next time happen, if that is not after `limit`. What they start may
  // happen at the same time, in a later step.
  bool step(double limit = std::numeric_limits<double>::infinity());
  // Moves on to `time`; there must be no event before it.
  void skip_to(double time) { queue_.skip_to(time); }

 private:
  struct RunningFlow {
    Id id = 0;  // 0: free
    Flow flow;
    double rate = 0;
    double begun = 0;
    double since = 0;    // flow.amount was left at this time
    double watched = 0;  // what is left when `reached` is to happen
    Action reached;
    bool gathered = false;
  };

  RunningFlow* find(Id id);
  const RunningFlow* find(Id id) const { return const_cast<VirtualClock*>(this)->find(id); }
  void take_out(RunningFlow& flow) noexcept;
  double event_time(const RunningFlow& flow) const;
  void bring_up_to_now(RunningFlow& flow);
  bool pass_watch(RunningFlow& flow);
  void mark_dirty(std::size_t resource) noexcept;
  void mark_all_dirty() noexcept;
  void settle();
  void settle_rates();
  void gather();
  void set_rates();

  template <typename Visit>
  static void each_resource(const Flow& flow, Visit visit) {
    for (const ResourceUse& use : flow.uses) visit(static_cast<std::size_t>(use.resource));
    if (flow.occupancy.resource >= 0) visit(static_cast<std::size_t>(flow.occupancy.resource));
  }

  EventQueue queue_;
  std::deque<RunningFlow> flows_;                // by slot of the queue
  std::size_t running_ = 0;                      // flows that have not ended
  std::vector<double> capacities_;               // by resource
  std::vector<std::vector<std::size_t>> users_;  // by resource: flows
  std::vector<char> dirty_;                      // by resource: a flow came or went
  std::vector<int> dirty_list_;
  std::vector<Id> unlinked_;  // new flows that use no resource
  FlowRates rates_;
  std::vector<std::size_t> linked_;  // working memory of settle()
  std::vector<const Flow*> linked_flows_;
};

}  // namespace duet::sim
