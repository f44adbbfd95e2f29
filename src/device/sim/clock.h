// The virtual clock: timers, and flows that share resources; time jumps from one event to the next.
// Knows nothing of devices.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "device/sim/fluid.h"

namespace duet::sim {

using Action = std::function<void()>;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Compute units that a flow occupies while it runs, however fast it gets on: they are shared out
// first (higher priority first, then max-min), and what a flow is given limits its rate.
struct Occupancy {
  int resource = -1;     // -1: none
  double units = 0;      // that it can occupy
  double unit_rate = 0;  // progress per second on one unit
  // Cut into this many equal workgroups, which run in waves: 5 on 4 units take as long as 8. 0:
  // divisible at will.
  double workgroups = 0;
  double unit_draw = std::numeric_limits<double>::infinity();  // of each use, per second and unit
  // What runs at the same time shares a cache: on more than so many units progress takes more of
  // each use, on all of them 1 + crowding times what it takes on so many.
  double uncrowded_units = std::numeric_limits<double>::infinity();
  double crowding = 0;
};

// Flows of the other kind slow a flow down before a resource is full, as waiting for memory grows
// with what is asked of it: to 1 / (1 + slope x their share of the resource) of what it would do
// without them.
struct Load {
  int resource = -1;  // -1: none
  double slope = 0;
  bool transfer = false;  // the flow's kind: it moves data, or it computes
};

// Units run slower the more power is drawn: at all of them computing, and nothing else drawing, at
// `frequency` of their full clock; with a share u of them, and a share p of the power drawn by
// others, at frequency x ((1 - p) / u)^(1/3) of it, for power goes with the clock's third power.
struct Throttle {
  int power = -1;        // the resource that others draw from; -1: none
  double frequency = 1;  // rates of what computes are given at this one, others' at the full clock
};

struct Flow {
  double amount = 0;  // to be done; its unit is the uses'
  double weight = 1;  // rates rise together in proportion to it: flows whose progress is counted
                      // in different units need it to share alike
  double cap = std::numeric_limits<double>::infinity();  // per second
  int priority = 0;  // for the occupancy alone; bandwidth knows no priorities
  std::vector<Use> uses;
  Occupancy occupancy;
  Load load;
  Throttle throttle;  // of a flow that occupies units
};

// Not thread-safe. Events at one time happen in the order in which they were asked for. While there
// are more than 2048 flows, one may end late by 1/512 of the time that it takes. Where memory is
// short after(), start() and watch() throw and leave nothing behind; cancel() never throws.
class VirtualClock {
 public:
  using Id = std::uint64_t;  // of a pending timer or flow; never used again

  double now() const { return now_; }
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
  void skip_to(double time);

 private:
  struct Slot {  // a timer, or a flow with its state
    Id id = 0;   // 0: free
    bool is_flow = false;
    Flow flow;
    Action action;
    double rate = 0;
    double begun = 0;
    double since = 0;    // flow.amount was left at this time
    double watched = 0;  // what is left when `reached` is to happen
    Action reached;
    std::uint32_t version = 0;  // of its entry in the heap; older entries are void
    bool seen = false;
  };
  struct Entry {
    double time;
    Id id;  // orders equal times
    std::uint32_t version;
    bool operator>(const Entry& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };

  // An id is the number of the request, and in its low bits the slot.
  static constexpr int kSlotBits = 24;
  static constexpr Id kSlotMask = (Id{1} << kSlotBits) - 1;

  std::uint32_t new_slot();
  Slot* find(Id id);
  const Slot* find(Id id) const { return const_cast<VirtualClock*>(this)->find(id); }
  void push(std::uint32_t slot, double time);
  double event_time(const Slot& slot) const;
  void bring_up_to_now(Slot& slot);
  bool pass_watch(std::uint32_t slot);
  bool is_void(const Entry& entry) const;
  void drop_void();
  void take_out(std::uint32_t slot) noexcept;
  void settle();  // rates for all flows that share anything with a flow that came or went
  void settle_rates();
  void mark_all_dirty() noexcept;
  void gather();
  void share_units();
  void set_rates();
  double frequency(const Flow& flow, double drawn) const;
  void crowd(const Flow& flow, double given, std::size_t place);
  void solve_rates();
  void count_busy();
  bool has_interference() const;
  double slowed(const Flow& flow, double alone, double unit_cap, double others) const;
  void solve_alone();
  void count_loads();
  void slow_by_load();
  double share_of_others(const Flow& flow) const;

  template <typename Visit>
  static void each_resource(const Flow& flow, Visit visit) {
    for (const Use& use : flow.uses) visit(static_cast<std::size_t>(use.resource));
    if (flow.occupancy.resource >= 0) visit(static_cast<std::size_t>(flow.occupancy.resource));
  }

  double now_ = 0;
  Id sequence_ = 0;
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t flows_ = 0;  // that have not ended
  std::vector<Entry> heap_;
  std::vector<double> capacities_;                 // by resource
  std::vector<std::vector<std::uint32_t>> users_;  // by resource: flows
  std::vector<char> dirty_;                        // by resource
  std::vector<int> dirty_list_;
  std::vector<Id> free_flows_;                // new flows that use no resource
  std::vector<std::pair<Id, Action>> batch_;  // what happens in this step
  std::vector<std::uint32_t> component_;      // working memory of settle()
  std::vector<Share> shares_;
  std::vector<std::vector<Use>> unit_uses_;
  std::vector<std::vector<Use>> crowded_;      // uses, as the units given make them
  std::vector<const std::vector<Use>*> uses_;  // of each flow: its own, or crowded ones
  std::vector<double> caps_;
  std::vector<double> unit_caps_;                 // of the units given
  std::vector<double> busy_;                      // by resource: units that compute
  std::vector<double> alone_;                     // what a flow would do without the other kind
  std::vector<double> others_;                    // the other kind's share of what slows it
  std::vector<std::pair<double, double>> loads_;  // by resource: of computing, of transfers
  MaxMin max_min_;
};

}  // namespace duet::sim
