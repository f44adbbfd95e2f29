// Rates of the virtual clock's flows, worked out again for all that share anything with a flow that
// came or went: first the compute units, then all other resources, then what one kind of flow costs
// the other.
#include <algorithm>
#include <cmath>

#include "device/sim/clock.h"

namespace duet::sim {
namespace {

// Each kind's rates follow from the other's: solved in turns until they hold still.
constexpr int kRounds = 60, kUndamped = 10;
constexpr double kStill = 1e-7;

// Workgroups run in waves on the units they are given; on less than one unit they take turns.
double useful_units(const Occupancy& occupancy, double given) {
  if (occupancy.workgroups <= 0 || given < 1) return given;
  // Grants come out of divisions: a hair under a whole number of waves is that number.
  const double waves = std::ceil(occupancy.workgroups / given - 1e-9);
  return std::min(given, occupancy.workgroups / waves);
}

// Progress of a unit that draws as much as it can.
double unit_draw(const Occupancy& occupancy, const std::vector<Use>& uses) {
  double rate = kNever;
  for (const Use& use : uses) rate = std::min(rate, occupancy.unit_draw / use.amount);
  return rate;
}

}  // namespace

void VirtualClock::settle() {
  try {
    settle_rates();
  } catch (...) {
    mark_all_dirty();
    throw;
  }
}

// Where memory is short rates are half worked out: all are when there is some again.
void VirtualClock::mark_all_dirty() noexcept {
  for (Slot& slot : slots_) slot.seen = false;
  for (std::size_t resource = 0; resource < capacities_.size(); ++resource) {
    if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
    dirty_[resource] = 1;
  }
}

void VirtualClock::settle_rates() {
  for (Id id : free_flows_) {
    const Slot* slot = find(id);
    if (slot == nullptr) continue;  // cancelled meanwhile
    const Flow& flow = slot->flow;
    push(static_cast<std::uint32_t>(id & kSlotMask),
         flow.amount <= 0 ? now_ : now_ + flow.amount / flow.cap);
  }
  free_flows_.clear();
  if (dirty_list_.empty()) return;
  gather();
  share_units();
  set_rates();
}

// The flows that are linked to a dirty resource, by however many steps, in order of arrival.
void VirtualClock::gather() {
  component_.clear();
  for (std::size_t i = 0; i < dirty_list_.size(); ++i) {
    for (std::uint32_t index : users_[static_cast<std::size_t>(dirty_list_[i])]) {
      Slot& slot = slots_[index];
      if (slot.seen) continue;
      slot.seen = true;
      component_.push_back(index);
      each_resource(slot.flow, [&](std::size_t resource) {
        if (dirty_[resource]) return;
        dirty_[resource] = 1;
        dirty_list_.push_back(static_cast<int>(resource));
      });
    }
  }
  for (int resource : dirty_list_) dirty_[static_cast<std::size_t>(resource)] = 0;
  dirty_list_.clear();
  for (std::uint32_t index : component_) slots_[index].seen = false;
  std::sort(component_.begin(), component_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return slots_[a].id < slots_[b].id; });
}

void VirtualClock::share_units() {
  shares_.clear();
  unit_uses_.resize(std::max(unit_uses_.size(), component_.size()));
  crowded_.resize(unit_uses_.size());
  caps_.assign(component_.size(), 0);
  uses_.assign(component_.size(), nullptr);
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = slots_[component_[i]].flow;
    caps_[i] = flow.cap;
    uses_[i] = &flow.uses;
    if (flow.occupancy.resource < 0) continue;
    unit_uses_[i].assign(1, Use{flow.occupancy.resource, 1});
    shares_.push_back({1, flow.occupancy.units, flow.priority, &unit_uses_[i], 0});
  }
  max_min_.solve(capacities_, shares_);
  count_busy();
  std::size_t share = 0;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = slots_[component_[i]].flow;
    if (flow.occupancy.resource < 0) continue;
    const double given = shares_[share++].rate;
    crowd(flow, given, i);
    const double rate = std::min(flow.occupancy.unit_rate * frequency(flow, 0),
                                 unit_draw(flow.occupancy, *uses_[i]));
    caps_[i] = std::min(flow.cap, useful_units(flow.occupancy, given) * rate);
  }
}

void VirtualClock::count_busy() {
  busy_.resize(capacities_.size());
  for (std::uint32_t index : component_) {
    const int units = slots_[index].flow.occupancy.resource;
    if (units >= 0) busy_[static_cast<std::size_t>(units)] = 0;
  }
  std::size_t share = 0;
  for (std::uint32_t index : component_) {
    const Flow& flow = slots_[index].flow;
    if (flow.occupancy.resource < 0) continue;
    const double given = shares_[share++].rate;
    if (!flow.load.transfer) busy_[static_cast<std::size_t>(flow.occupancy.resource)] += given;
  }
}

// Of the clock at which the flow's rate is given, while others draw that share of the power.
double VirtualClock::frequency(const Flow& flow, double drawn) const {
  const std::size_t units = static_cast<std::size_t>(flow.occupancy.resource);
  const double share = busy_[units] / capacities_[units];
  const double given_at = flow.load.transfer ? 1 : flow.throttle.frequency;
  if (flow.throttle.power < 0 || share <= 0) return 1;
  const double clock = flow.throttle.frequency * std::cbrt(std::max(0.0, 1 - drawn) / share);
  return std::min(1.0, clock) / given_at;
}

// What progress takes of each resource while the flow has that many units; uses are those of all.
void VirtualClock::crowd(const Flow& flow, double given, std::size_t place) {
  const Occupancy& occupancy = flow.occupancy;
  const double all = capacities_[static_cast<std::size_t>(occupancy.resource)];
  if (occupancy.crowding <= 0 || given >= all) return;
  const double over = std::max(0.0, given - occupancy.uncrowded_units);
  const double crowd = occupancy.crowding * over / (all - occupancy.uncrowded_units);
  crowded_[place] = flow.uses;
  for (Use& use : crowded_[place]) use.amount *= (1 + crowd) / (1 + occupancy.crowding);
  uses_[place] = &crowded_[place];
}

void VirtualClock::solve_rates() {
  shares_.clear();
  for (std::size_t i = 0; i < component_.size(); ++i) {
    shares_.push_back({slots_[component_[i]].flow.weight, caps_[i], 0, uses_[i], 0});
  }
  max_min_.solve(capacities_, shares_);
}

// Of the resource that slows the flow, by flows of the other kind.
double VirtualClock::share_of_others(const Flow& flow) const {
  const std::size_t resource = static_cast<std::size_t>(flow.load.resource);
  const auto& [computing, transfers] = loads_[resource];
  return (flow.load.transfer ? computing : transfers) / capacities_[resource];
}

void VirtualClock::count_loads() {
  loads_.resize(capacities_.size());
  for (std::size_t i = 0; i < component_.size(); ++i) {
    for (const Use& use : *uses_[i]) loads_[static_cast<std::size_t>(use.resource)] = {0, 0};
  }
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const bool transfer = slots_[component_[i]].flow.load.transfer;
    for (const Use& use : *uses_[i]) {
      auto& [computing, transfers] = loads_[static_cast<std::size_t>(use.resource)];
      (transfer ? transfers : computing) += shares_[i].rate * use.amount;
    }
  }
}

// What each flow would do if the other kind were not there.
void VirtualClock::solve_alone() {
  alone_.assign(component_.size(), 0);
  for (const bool transfer : {false, true}) {
    shares_.clear();
    const auto of_kind = [&](std::size_t i) {
      return slots_[component_[i]].flow.load.transfer == transfer;
    };
    for (std::size_t i = 0; i < component_.size(); ++i) {
      const double weight = slots_[component_[i]].flow.weight;
      shares_.push_back({weight, of_kind(i) ? caps_[i] : 0, 0, uses_[i], 0});
    }
    max_min_.solve(capacities_, shares_);
    for (std::size_t i = 0; i < component_.size(); ++i) {
      if (of_kind(i)) alone_[i] = shares_[i].rate;
    }
  }
}

// What the other kind leaves of a flow's rate: it loads memory, and draws power.
double VirtualClock::slowed(const Flow& flow, double alone, double unit_cap, double others) const {
  double cap = alone;
  if (flow.throttle.power >= 0) {
    const std::size_t power = static_cast<std::size_t>(flow.throttle.power);
    const double drawn = loads_[power].second / capacities_[power];
    cap = std::min(cap, unit_cap * frequency(flow, drawn) / frequency(flow, 0));
  }
  return cap / (1 + flow.load.slope * others);
}

void VirtualClock::slow_by_load() {
  unit_caps_ = caps_;
  others_.assign(component_.size(), 0);
  double moved = kNever;
  for (int round = 0; round < kRounds && moved > kStill; ++round) {
    count_loads();
    moved = 0;
    for (std::size_t i = 0; i < component_.size(); ++i) {
      const Flow& flow = slots_[component_[i]].flow;
      if (flow.load.slope <= 0 && flow.throttle.power < 0) continue;
      double others = share_of_others(flow);
      if (round >= kUndamped) others = (others + others_[i]) / 2;
      others_[i] = others;
      const double cap = slowed(flow, alone_[i], unit_caps_[i], others);
      moved = std::max(moved, std::abs(cap - caps_[i]) / unit_caps_[i]);
      caps_[i] = cap;
    }
    solve_rates();
  }
}

// Both kinds are there, and one minds.
bool VirtualClock::has_interference() const {
  bool minds = false, computing = false, transfers = false;
  for (std::uint32_t index : component_) {
    const Load& load = slots_[index].flow.load;
    minds |= load.slope > 0 || slots_[index].flow.throttle.power >= 0;
    (load.transfer ? transfers : computing) = true;
  }
  return minds && computing && transfers;
}

void VirtualClock::set_rates() {
  if (has_interference()) {
    solve_alone();
    solve_rates();
    slow_by_load();
  } else {
    solve_rates();
  }
  for (std::size_t i = 0; i < component_.size(); ++i) {
    Slot& slot = slots_[component_[i]];
    const double rate = shares_[i].rate;
    if (rate == slot.rate && rate > 0) continue;  // its end stays where it is, to the bit
    bring_up_to_now(slot);
    slot.rate = rate;
    push(component_[i], event_time(slot));
  }
}

}  // namespace duet::sim
