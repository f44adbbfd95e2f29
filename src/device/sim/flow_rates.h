#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "device/sim/max_min.h"

namespace duet::sim {

// Compute units that a flow occupies while it runs, whatever its rate. Units are shared out before
// all other resources: a higher priority first, max-min fair within a priority. The units that a
// flow gets limit its rate.
struct Occupancy {
  int resource = -1;     // the units; -1: the flow occupies none
  double units = 0;      // the most that it can occupy
  double unit_rate = 0;  // progress per second on one unit
  // The flow consists of this many equal workgroups, which run in waves: 5 workgroups on 4 units
  // take as long as 8. 0: no waves.
  double workgroups = 0;
  // The most that one unit takes per second of any of the flow's uses.
  double unit_draw = std::numeric_limits<double>::infinity();
  // Workgroups that run at the same time share a cache. On up to `uncrowded_units` units progress
  // takes the least of each use; on all units it takes 1 + crowding times as much.
  double uncrowded_units = std::numeric_limits<double>::infinity();
  double crowding = 0;
};

// How flows of the other kind (computing or moving data) slow a flow down before a resource is
// full, because the latency of memory grows with its load. The flow's rate is 1 / (1 + slope x
// load) of what it would be without them; load is the share of the resource's capacity that they
// take.
struct LoadSlowdown {
  int resource = -1;  // -1: none
  double slope = 0;
  bool transfer = false;  // the flow's kind. true: it moves data; false: it computes
};

// How the clock of the compute units falls with the power drawn. If all units compute and nothing
// else draws power, the clock is `frequency` of the full clock. If a share u of the units computes
// and transfers draw a share p of the power, it is frequency x ((1 - p) / u)^(1/3), at most 1,
// because power grows with the third power of the clock.
struct PowerThrottle {
  int power = -1;  // the resource from which transfers draw; -1: the clock does not fall
  // Rates of flows that compute are given at this clock, rates of transfers at the full clock.
  double frequency = 1;
};

// An amount of work whose rate follows from the resources that it shares with other flows.
struct Flow {
  double amount = 0;  // in a unit of the flow's own: bytes, workgroups
  // Rates rise together in proportion to their weights. Flows with different units of progress need
  // weights to share alike.
  double weight = 1;
  double cap = std::numeric_limits<double>::infinity();  // upper limit of the rate, per second
  int priority = 0;  // for compute units alone; other resources are shared without priorities
  std::vector<ResourceUse> uses;
  Occupancy occupancy;
  LoadSlowdown load;
  PowerThrottle throttle;  // only for a flow that occupies units
};

// Computes the rates of flows that share resources. The rates are a pure function of the capacities
// and the flows without their amounts: equal input gives equal rates to the bit. The object only
// keeps working memory between calls.
//
// Compute units are shared out first, then all other resources. If computing flows and transfers
// slow each other down (LoadSlowdown, PowerThrottle), the rates are solved repeatedly until they
// converge.
class FlowRates {
 public:
  // Returns the progress of each flow per second, valid until the next call. `capacities` are per
  // second, by resource. A flow that uses no resource gets its cap.
  const std::vector<double>& solve(const std::vector<double>& capacities,
                                   const std::vector<const Flow*>& flows);

 private:
  const Flow& flow(std::size_t index) const { return *(*flows_)[index]; }
  double capacity(int resource) const { return (*capacities_)[static_cast<std::size_t>(resource)]; }

  void share_units();
  void count_busy_units();
  double clock_frequency(const Flow& flow, double drawn) const;
  void crowd_cache(std::size_t index, double given);
  void solve_max_min();
  bool has_interference() const;
  void solve_kinds_alone();
  void count_loads();
  double share_of_other_kind(const Flow& flow) const;
  double slowed(const Flow& flow, double alone, double unit_cap, double others) const;
  void slow_by_load();

  const std::vector<double>* capacities_ = nullptr;  // the arguments of the running solve()
  const std::vector<const Flow*>* flows_ = nullptr;

  // By flow. While units are shared out, claims_ has only the flows with an occupancy.
  std::vector<MaxMinClaim> claims_;
  std::vector<std::vector<ResourceUse>> unit_uses_;
  std::vector<std::vector<ResourceUse>> crowded_;      // uses on the units that the flow was given
  std::vector<const std::vector<ResourceUse>*> uses_;  // the flow's own, or those of crowded_
  std::vector<double> caps_;                           // upper limits of the rates
  std::vector<double> unit_caps_;                      // limits by the units given
  std::vector<double> alone_;   // the rate of a flow without flows of the other kind
  std::vector<double> others_;  // the other kind's share of the resource that slows the flow
  std::vector<double> rates_;

  // By resource.
  std::vector<double> busy_units_;                // units that compute
  std::vector<std::pair<double, double>> loads_;  // per second: of computing flows, of transfers
  MaxMin max_min_;
};

}  // namespace duet::sim
