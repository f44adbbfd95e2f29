#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "device/sim/event_queue.h"
#include "device/sim/flow_rates.h"

namespace duet::sim {

// The virtual clock of a simulated machine. It runs timers, and flows that share resources. Time
// jumps from one event to the next. When a flow starts or ends, the rates of all flows that share
// resources with it, directly or through other flows, are computed again.
//
// Not thread-safe. Events at the same time happen in the order in which they were added. While more
// than 2048 flows run, a flow may end late by 1/512 of its duration. If memory runs out, after(),
// start() and watch() throw std::bad_alloc and change nothing; cancel() never throws.
class VirtualClock {
 public:
  using Id = EventQueue::Id;  // of a pending timer or flow; never used again

  double now() const { return queue_.now(); }  // seconds from 0
  // Adds a resource for flows and returns its index. The capacity is in the unit in which flows
  // state their uses.
  int add_resource(double capacity_per_second);

  Id after(double seconds, Action action);  // calls `action` once, `seconds` from now
  Id start(Flow flow, Action done);         // calls `done` when the flow's amount is done
  void cancel(Id id) noexcept;              // no-op if the event has happened
  // Calls `reached` when at most `left` of the flow's amount is left. The flow goes on. A flow has
  // one watch: a later call replaces it. No-op if the flow has ended.
  void watch(Id flow, double left, Action reached);
  double left(Id flow) const;  // what is left of the flow's amount now; 0 if it has ended

  // The time of the next event; infinity if there is none. A flow whose rate is 0 has no event.
  double next();
  // Runs the events of the next time and returns true. Returns false if there are none or their
  // time is after `limit`. Events that they add for the same time happen in a later step.
  bool step(double limit = std::numeric_limits<double>::infinity());
  // Moves on to `time`; there must be no event before it.
  void skip_to(double time) { queue_.skip_to(time); }

 private:
  struct RunningFlow {
    Id id = 0;  // 0: free
    Flow flow;
    double rate = 0;        // amount per second
    double begun = 0;       // when the flow started
    double since = 0;       // flow.amount is what was left at this time
    double watched = 0;     // the amount left at which `reached` is called
    Action reached;         // of watch(); empty if nothing is watched
    bool gathered = false;  // already in linked_, within gather()
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
  std::vector<std::vector<std::size_t>> users_;  // by resource: slots of the flows that use it
  std::vector<char> dirty_;                      // by resource: a flow started or ended
  std::vector<int> dirty_list_;                  // the resources that are dirty
  std::vector<Id> unlinked_;                     // new flows that use no resource
  FlowRates rates_;
  std::vector<std::size_t> linked_;  // working memory of settle()
  std::vector<const Flow*> linked_flows_;
};

}  // namespace duet::sim
