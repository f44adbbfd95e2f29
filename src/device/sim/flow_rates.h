#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "device/sim/flow.h"
#include "device/sim/max_min.h"

namespace duet::sim {

// How fast flows progress that share resources. A pure function of capacities and flows, whose
// amounts do not matter: equal input gives equal rates to the bit. Keeps its working memory between
// calls.
//
// Compute units are shared out first, all other resources then. Where flows that compute and flows
// that transfer are both there, and slow each other (LoadSlowdown, PowerThrottle), the rates are
// solved again until they hold still.
class FlowRates {
 public:
  // The progress of each flow per second; good until the next call. `capacities` is indexed by
  // resource, per second. A flow that uses nothing gets its cap.
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

  const std::vector<double>* capacities_ = nullptr;  // of the call
  const std::vector<const Flow*>* flows_ = nullptr;  // likewise

  // By flow, but for the units' claims, which only flows with an occupancy have.
  std::vector<MaxMinClaim> claims_;
  std::vector<std::vector<ResourceUse>> unit_uses_;
  std::vector<std::vector<ResourceUse>> crowded_;      // uses, as the units given make them
  std::vector<const std::vector<ResourceUse>*> uses_;  // the flow's own, or crowded ones
  std::vector<double> caps_;
  std::vector<double> unit_caps_;  // of the units given
  std::vector<double> alone_;      // what a flow would do without the other kind
  std::vector<double> others_;     // the other kind's share of what slows it
  std::vector<double> rates_;

  // By resource.
  std::vector<double> busy_units_;                // that compute
  std::vector<std::pair<double, double>> loads_;  // of computing, of transfers
  MaxMin max_min_;
};

}  // namespace duet::sim
