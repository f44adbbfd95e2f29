#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "device/sim/flow.h"
#include "device/sim/max_min.h"

namespace duet::sim {

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
