// The event loop of the virtual clock, and when flows' rates are worked out again.
#include "device/sim/clock.h"

#include <algorithm>
#include <cmath>

namespace duet::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Workgroups run in waves on the units they are given; on less than one unit they take turns.
double useful_units(const Occupancy& occupancy, double given) {
  if (occupancy.workgroups <= 0 || given < 1) return given;
  // Grants come out of divisions: a hair under a whole number of waves is that number.
  const double waves = std::ceil(occupancy.workgroups / given - 1e-9);
  return std::min(given, occupancy.workgroups / waves);
}

}  // namespace

int VirtualClock::add_resource(double capacity_per_second) {
  capacities_.push_back(capacity_per_second);
  users_.emplace_back();
  dirty_.push_back(0);
  return static_cast<int>(capacities_.size()) - 1;
}

template <typename Visit>
void VirtualClock::each_resource(const Flow& flow, Visit visit) {
  for (const Use& use : flow.uses) visit(static_cast<std::size_t>(use.resource));
  if (flow.occupancy.resource >= 0) visit(static_cast<std::size_t>(flow.occupancy.resource));
}

std::uint32_t VirtualClock::new_slot() {
  std::uint32_t index = static_cast<std::uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  slots_[index].id = (++sequence_ << kSlotBits) | index;
  return index;
}

VirtualClock::Slot* VirtualClock::find(Id id) {
  Slot& slot = slots_[id & kSlotMask];
  return slot.id == id ? &slot : nullptr;
}

VirtualClock::Id VirtualClock::after(double seconds, Action action) {
  const std::uint32_t index = new_slot();
  slots_[index].is_flow = false;
  slots_[index].action = std::move(action);
  push(index, now_ + seconds);
  return slots_[index].id;
}

VirtualClock::Id VirtualClock::start(Flow flow, Action done) {
  const std::uint32_t index = new_slot();
  Slot& slot = slots_[index];
  slot.is_flow = true;
  slot.flow = std::move(flow);
  auto& uses = slot.flow.uses;
  uses.erase(std::remove_if(uses.begin(), uses.end(), [](const Use& u) { return u.amount <= 0; }),
             uses.end());
  slot.action = std::move(done);
  slot.rate = 0;
  slot.since = now_;
  bool alone = true;
  each_resource(slot.flow, [&](std::size_t resource) {
    users_[resource].push_back(index);
    if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
    dirty_[resource] = 1;
    alone = false;
  });
  if (alone) free_flows_.push_back(slot.id);
  return slot.id;
}

void VirtualClock::cancel(Id id) {
  if (id == 0) return;
  if (find(id) != nullptr) return take_out(static_cast<std::uint32_t>(id & kSlotMask));
  for (auto& [happening, action] : batch_) {
    if (happening == id) action = nullptr;
  }
}

void VirtualClock::take_out(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.is_flow) {
    each_resource(slot.flow, [&](std::size_t resource) {
      auto& users = users_[resource];
      users.erase(std::find(users.begin(), users.end(), index));
      if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
      dirty_[resource] = 1;
    });
  }
  slot.id = 0;
  slot.action = nullptr;
  ++slot.version;
  free_.push_back(index);
}

void VirtualClock::push(std::uint32_t index, double time) {
  Slot& slot = slots_[index];
  ++slot.version;
  if (time == kNever) return;
  heap_.push_back({time, slot.id, slot.version});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  if (heap_.size() > 64 + 8 * slots_.size()) {  // mostly void entries
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                               [&](const Entry& entry) { return is_void(entry); }),
                heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
}

bool VirtualClock::is_void(const Entry& entry) const {
  const Slot& slot = slots_[entry.id & kSlotMask];
  return slot.id != entry.id || slot.version != entry.version;
}

void VirtualClock::drop_void() {
  while (!heap_.empty() && is_void(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

double VirtualClock::next() {
  settle();
  drop_void();
  return heap_.empty() ? kNever : heap_.front().time;
}

bool VirtualClock::step(double limit) {
  const double time = next();
  if (time == kNever || time > limit) return false;
  now_ = std::max(now_, time);
  // All that happens now is taken out before any of it acts, so that flows that end together are
  // followed by one settling of rates.
  batch_.clear();
  for (; !heap_.empty() && heap_.front().time <= now_; drop_void()) {
    const Id id = heap_.front().id;
    batch_.emplace_back(id, std::move(find(id)->action));
    take_out(static_cast<std::uint32_t>(id & kSlotMask));
  }
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Action action = std::move(batch_[i].second);
    if (action) action();
  }
  return true;
}

void VirtualClock::skip_to(double time) { now_ = std::max(now_, time); }

void VirtualClock::settle() {
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
  caps_.assign(component_.size(), 0);
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = slots_[component_[i]].flow;
    caps_[i] = flow.cap;
    if (flow.occupancy.resource < 0) continue;
    unit_uses_[i].assign(1, Use{flow.occupancy.resource, 1});
    shares_.push_back({flow.weight, flow.occupancy.units, flow.priority, &unit_uses_[i], 0});
  }
  max_min_.solve(capacities_, shares_);
  std::size_t share = 0;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = slots_[component_[i]].flow;
    if (flow.occupancy.resource < 0) continue;
    const double units = useful_units(flow.occupancy, shares_[share++].rate);
    caps_[i] = std::min(flow.cap, units * flow.occupancy.unit_rate);
  }
}

void VirtualClock::set_rates() {
  shares_.clear();
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = slots_[component_[i]].flow;
    shares_.push_back({flow.weight, caps_[i], 0, &flow.uses, 0});
  }
  max_min_.solve(capacities_, shares_);
  for (std::size_t i = 0; i < component_.size(); ++i) {
    Slot& slot = slots_[component_[i]];
    const double rate = shares_[i].rate;
    if (rate == slot.rate && rate > 0) continue;  // its end stays where it is, to the bit
    const double done = slot.rate > 0 ? slot.rate * (now_ - slot.since) : 0;
    slot.flow.amount = std::max(0.0, slot.flow.amount - done);
    slot.since = now_;
    slot.rate = rate;
    double end = kNever;
    if (slot.flow.amount <= 0) {
      end = now_;
    } else if (rate > 0) {
      end = now_ + slot.flow.amount / rate;
    }
    push(component_[i], end);
  }
}

}  // namespace duet::sim
