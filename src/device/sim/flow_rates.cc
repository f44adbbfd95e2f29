#include "device/sim/flow_rates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace duet::sim {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The rates of computing flows and of transfers depend on each other. They are solved alternately
// until no cap changes by more than kStill, at most kRounds times. From round kUndamped on each
// load is averaged with that of the round before.
constexpr int kRounds = 60, kUndamped = 10;
constexpr double kStill = 1e-7;

// The average number of units that work. Workgroups run in waves on the units given, and one after
// the other on less than one unit.
double useful_units(const Occupancy& occupancy, double given) {
  if (occupancy.workgroups <= 0 || given < 1) return given;
  // `given` is the result of divisions: the tolerance keeps rounding from adding a wave.
  const double waves = std::ceil(occupancy.workgroups / given - 1e-9);
  return std::min(given, occupancy.workgroups / waves);
}

// The progress per second of a unit that draws as much as it can.
double unit_draw(const Occupancy& occupancy, const std::vector<ResourceUse>& uses) {
  double rate = kUnlimited;
  for (const ResourceUse& use : uses) rate = std::min(rate, occupancy.unit_draw / use.amount);
  return rate;
}

}  // namespace

const std::vector<double>& FlowRates::solve(const std::vector<double>& capacities,
                                            const std::vector<const Flow*>& flows) {
  capacities_ = &capacities;
  flows_ = &flows;
  share_units();
  if (has_interference()) {
    solve_kinds_alone();
    solve_max_min();
    slow_by_load();
  } else {
    solve_max_min();
  }
  rates_.clear();
  for (const MaxMinClaim& claim : claims_) rates_.push_back(claim.rate);
  return rates_;
}

void FlowRates::share_units() {
  const std::size_t count = flows_->size();
  claims_.clear();
  unit_uses_.resize(std::max(unit_uses_.size(), count));
  crowded_.resize(unit_uses_.size());
  caps_.assign(count, 0);
  uses_.assign(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    const Flow& each = flow(i);
    caps_[i] = each.cap;
    uses_[i] = &each.uses;
    if (each.occupancy.resource < 0) continue;
    unit_uses_[i].assign(1, ResourceUse{each.occupancy.resource, 1});
    claims_.push_back({1, each.occupancy.units, each.priority, &unit_uses_[i], 0});
  }
  max_min_.solve(*capacities_, claims_);
  count_busy_units();
  std::size_t claim = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Flow& each = flow(i);
    if (each.occupancy.resource < 0) continue;
    const double given = claims_[claim++].rate;
    crowd_cache(i, given);
    const double rate = std::min(each.occupancy.unit_rate * clock_frequency(each, 0),
                                 unit_draw(each.occupancy, *uses_[i]));
    caps_[i] = std::min(each.cap, useful_units(each.occupancy, given) * rate);
  }
}

void FlowRates::count_busy_units() {
  busy_units_.resize(capacities_->size());
  for (const Flow* each : *flows_) {
    const int units = each->occupancy.resource;
    if (units >= 0) busy_units_[static_cast<std::size_t>(units)] = 0;
  }
  std::size_t claim = 0;
  for (const Flow* each : *flows_) {
    const int units = each->occupancy.resource;
    if (units < 0) continue;
    const double given = claims_[claim++].rate;
    if (!each->load.transfer) busy_units_[static_cast<std::size_t>(units)] += given;
  }
}

// The clock over the clock at which the flow's rate is given, while transfers draw the share
// `drawn` of the power.
double FlowRates::clock_frequency(const Flow& flow, double drawn) const {
  const int units = flow.occupancy.resource;
  const double share = busy_units_[static_cast<std::size_t>(units)] / capacity(units);
  const double given_at = flow.load.transfer ? 1 : flow.throttle.frequency;
  if (flow.throttle.power < 0 || share <= 0) return 1;
  const double clock = flow.throttle.frequency * std::cbrt(std::max(0.0, 1 - drawn) / share);
  return std::min(1.0, clock) / given_at;
}

// Sets the flow's uses on `given` units. Flow::uses are those on all units.
void FlowRates::crowd_cache(std::size_t index, double given) {
  const Occupancy& occupancy = flow(index).occupancy;
  const double all = capacity(occupancy.resource);
  if (occupancy.crowding <= 0 || given >= all) return;
  const double over = std::max(0.0, given - occupancy.uncrowded_units);
  const double crowd = occupancy.crowding * over / (all - occupancy.uncrowded_units);
  crowded_[index] = flow(index).uses;
  for (ResourceUse& use : crowded_[index]) use.amount *= (1 + crowd) / (1 + occupancy.crowding);
  uses_[index] = &crowded_[index];
}

void FlowRates::solve_max_min() {
  claims_.clear();
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    claims_.push_back({flow(i).weight, caps_[i], 0, uses_[i], 0});
  }
  max_min_.solve(*capacities_, claims_);
}

// Whether there are flows of both kinds and one kind slows the other.
bool FlowRates::has_interference() const {
  bool slows = false, computing = false, transfers = false;
  for (const Flow* each : *flows_) {
    slows |= each->load.slope > 0 || each->throttle.power >= 0;
    (each->load.transfer ? transfers : computing) = true;
  }
  return slows && computing && transfers;
}

// Sets alone_: the rate of each flow without the flows of the other kind.
void FlowRates::solve_kinds_alone() {
  alone_.assign(flows_->size(), 0);
  for (const bool transfer : {false, true}) {
    claims_.clear();
    for (std::size_t i = 0; i < flows_->size(); ++i) {
      const bool of_kind = flow(i).load.transfer == transfer;
      claims_.push_back({flow(i).weight, of_kind ? caps_[i] : 0, 0, uses_[i], 0});
    }
    max_min_.solve(*capacities_, claims_);
    for (std::size_t i = 0; i < flows_->size(); ++i) {
      if (flow(i).load.transfer == transfer) alone_[i] = claims_[i].rate;
    }
  }
}

void FlowRates::count_loads() {
  loads_.resize(capacities_->size());
  for (const std::vector<ResourceUse>* uses : uses_) {
    for (const ResourceUse& use : *uses) loads_[static_cast<std::size_t>(use.resource)] = {0, 0};
  }
  for (std::size_t i = 0; i < flows_->size(); ++i) {
    for (const ResourceUse& use : *uses_[i]) {
      auto& [computing, transfers] = loads_[static_cast<std::size_t>(use.resource)];
      (flow(i).load.transfer ? transfers : computing) += claims_[i].rate * use.amount;
    }
  }
}

// The other kind's share of the resource that slows the flow; 0 if no resource does.
double FlowRates::share_of_other_kind(const Flow& flow) const {
  if (flow.load.resource < 0) return 0;
  const auto& [computing, transfers] = loads_[static_cast<std::size_t>(flow.load.resource)];
  return (flow.load.transfer ? computing : transfers) / capacity(flow.load.resource);
}

// The rate that the other kind leaves to a flow by loading memory and drawing power.
double FlowRates::slowed(const Flow& flow, double alone, double unit_cap, double others) const {
  double cap = alone;
  if (flow.throttle.power >= 0) {
    const double transfers = loads_[static_cast<std::size_t>(flow.throttle.power)].second;
    const double drawn = transfers / capacity(flow.throttle.power);
    cap = std::min(cap, unit_cap * clock_frequency(flow, drawn) / clock_frequency(flow, 0));
  }
  return cap / (1 + flow.load.slope * others);
}

void FlowRates::slow_by_load() {
  unit_caps_ = caps_;
  others_.assign(flows_->size(), 0);
  double moved = kUnlimited;
  for (int round = 0; round < kRounds && moved > kStill; ++round) {
    count_loads();
    moved = 0;
    for (std::size_t i = 0; i < flows_->size(); ++i) {
      const Flow& each = flow(i);
      if (each.load.slope <= 0 && each.throttle.power < 0) continue;
      double others = share_of_other_kind(each);
      if (round >= kUndamped) others = (others + others_[i]) / 2;
      others_[i] = others;
      const double cap = slowed(each, alone_[i], unit_caps_[i], others);
      moved = std::max(moved, std::abs(cap - caps_[i]) / unit_caps_[i]);
      caps_[i] = cap;
    }
    solve_max_min();
  }
}

}  // namespace duet::sim
