#include "device/sim/clock.h"

#include <algorithm>
#include <cmath>

#include "device/sim/event_queue.h"

namespace duet::sim {
namespace {

// When a flow ends, the rates of all flows linked to it are computed again, so the work would grow
// with the square of their number. With more than kMany flows each end is therefore delayed by up
// to 1 / kSteps of the flow's duration, so that flows with similar ends end together.
constexpr std::size_t kMany = 2048;
constexpr double kSteps = 512;

// Rounds a time up to a multiple of the largest power of two that is not above `step`. A step of 0
// leaves it as it is: a short flow late on the clock can have a duration of 0.
double rounded_up(double time, double step) {
  if (step <= 0) return time;
  int exponent = 0;
  std::frexp(step, &exponent);
  const double grid = std::ldexp(0.5, exponent);
  return std::ceil(time / grid) * grid;
}

}  // namespace

int VirtualClock::add_resource(double capacity_per_second) {
  make_room(dirty_list_, capacities_.size() + 1);
  capacities_.push_back(capacity_per_second);
  users_.emplace_back();
  dirty_.push_back(0);
  return static_cast<int>(capacities_.size()) - 1;
}

VirtualClock::RunningFlow* VirtualClock::find(Id id) {
  const std::size_t slot = EventQueue::slot(id);
  return slot < flows_.size() && flows_[slot].id == id ? &flows_[slot] : nullptr;
}

VirtualClock::Id VirtualClock::after(double seconds, Action action) {
  const Id id = queue_.add(std::move(action));
  queue_.schedule(id, now() + seconds);
  return id;
}

VirtualClock::Id VirtualClock::start(Flow flow, Action done) {
  auto& uses = flow.uses;
  uses.erase(std::remove_if(uses.begin(), uses.end(),
                            [](const ResourceUse& use) { return use.amount <= 0; }),
             uses.end());
  each_resource(flow, [&](std::size_t resource) { make_room(users_[resource], uses.size() + 1); });
  make_room(unlinked_, 1);
  if (flows_.size() <= queue_.slots()) flows_.resize(queue_.slots() + 1);
  const Id id = queue_.add(std::move(done));
  const std::size_t slot = EventQueue::slot(id);
  RunningFlow& running = flows_[slot];
  running.id = id;
  running.flow = std::move(flow);
  running.rate = 0;
  running.since = running.begun = now();
  ++running_;
  bool alone = true;
  each_resource(running.flow, [&](std::size_t resource) {
    users_[resource].push_back(slot);
    mark_dirty(resource);
    alone = false;
  });
  if (alone) unlinked_.push_back(id);
  return id;
}

void VirtualClock::cancel(Id id) noexcept {
  if (id == 0) return;
  if (RunningFlow* flow = find(id)) take_out(*flow);
  queue_.cancel(id);
}

void VirtualClock::watch(Id id, double left, Action reached) {
  RunningFlow* flow = find(id);
  if (flow == nullptr) return;
  queue_.make_room_to_schedule();
  flow->watched = left;
  flow->reached = std::move(reached);
  queue_.schedule(id, event_time(*flow));
}

double VirtualClock::left(Id id) const {
  const RunningFlow* flow = find(id);
  if (flow == nullptr) return 0;
  return std::max(0.0, flow->flow.amount - flow->rate * (now() - flow->since));
}

// When a flow ends or, if it is watched, reaches the watched amount.
double VirtualClock::event_time(const RunningFlow& flow) const {
  const double until = flow.reached ? flow.watched : 0;
  const double ahead = flow.flow.amount - until;
  if (ahead <= 0) return now();
  if (flow.rate <= 0) return kNever;
  const double time = flow.since + ahead / flow.rate;
  const bool exact = flow.reached || running_ <= kMany;
  return exact ? time : rounded_up(time, (time - flow.begun) / kSteps);
}

void VirtualClock::bring_up_to_now(RunningFlow& flow) {
  const double done = flow.rate > 0 ? flow.rate * (now() - flow.since) : 0;
  flow.flow.amount = std::max(0.0, flow.flow.amount - done);
  flow.since = now();
}

// Takes the event of a flow's watch. Returns false if the flow has no watch, so its event is its
// end.
bool VirtualClock::pass_watch(RunningFlow& flow) {
  if (!flow.reached) return false;
  queue_.make_room_to_schedule();
  bring_up_to_now(flow);
  flow.flow.amount = std::min(flow.flow.amount, flow.watched);
  queue_.take_early(flow.id, std::exchange(flow.reached, nullptr));
  queue_.schedule(flow.id, event_time(flow));
  return true;
}

void VirtualClock::take_out(RunningFlow& flow) noexcept {
  const std::size_t slot = EventQueue::slot(flow.id);
  --running_;
  each_resource(flow.flow, [&](std::size_t resource) {
    auto& users = users_[resource];
    *std::find(users.begin(), users.end(), slot) = users.back();
    users.pop_back();
    mark_dirty(resource);
  });
  flow.id = 0;
  flow.reached = nullptr;
}

double VirtualClock::next() {
  settle();
  return queue_.next();
}

bool VirtualClock::step(double limit) {
  const double time = next();
  if (time == kNever || time > limit) return false;
  queue_.begin_step(time);
  // All events of this time are taken before any action runs, so that rates are computed once for
  // all flows that end together.
  while (const Id id = queue_.due()) {
    RunningFlow* flow = find(id);
    if (flow != nullptr && pass_watch(*flow)) continue;
    if (flow != nullptr) take_out(*flow);
    queue_.take(id);
  }
  queue_.run();
  return true;
}

// Cannot throw: each resource is in the list at most once, and add_resource() reserved that.
void VirtualClock::mark_dirty(std::size_t resource) noexcept {
  if (!dirty_[resource]) dirty_list_.push_back(static_cast<int>(resource));
  dirty_[resource] = 1;
}

// After a failed settle_rates() some rates are not set. Marks all resources, so that the next
// settle() computes all rates.
void VirtualClock::mark_all_dirty() noexcept {
  for (RunningFlow& flow : flows_) flow.gathered = false;
  for (std::size_t resource = 0; resource < capacities_.size(); ++resource) mark_dirty(resource);
}

// Computes the rates of all flows that are linked to a flow that started or ended.
void VirtualClock::settle() {
  try {
    settle_rates();
  } catch (...) {
    mark_all_dirty();
    throw;
  }
}

void VirtualClock::settle_rates() {
  for (Id id : unlinked_) {
    const RunningFlow* running = find(id);
    if (running == nullptr) continue;  // cancelled meanwhile
    const Flow& flow = running->flow;
    queue_.schedule(id, flow.amount <= 0 ? now() : now() + flow.amount / flow.cap);
  }
  unlinked_.clear();
  if (dirty_list_.empty()) return;
  gather();
  set_rates();
}

// Collects the flows that are linked to a dirty resource, directly or through other flows, in the
// order in which they started.
void VirtualClock::gather() {
  linked_.clear();
  for (std::size_t i = 0; i < dirty_list_.size(); ++i) {
    for (std::size_t slot : users_[static_cast<std::size_t>(dirty_list_[i])]) {
      RunningFlow& flow = flows_[slot];
      if (std::exchange(flow.gathered, true)) continue;
      linked_.push_back(slot);
      each_resource(flow.flow, [&](std::size_t resource) { mark_dirty(resource); });
    }
  }
  for (int resource : dirty_list_) dirty_[static_cast<std::size_t>(resource)] = 0;
  dirty_list_.clear();
  for (std::size_t slot : linked_) flows_[slot].gathered = false;
  std::sort(linked_.begin(), linked_.end(),
            [&](std::size_t a, std::size_t b) { return flows_[a].id < flows_[b].id; });
}

void VirtualClock::set_rates() {
  linked_flows_.clear();
  for (std::size_t slot : linked_) linked_flows_.push_back(&flows_[slot].flow);
  const std::vector<double>& rates = rates_.solve(capacities_, linked_flows_);
  for (std::size_t i = 0; i < linked_.size(); ++i) {
    RunningFlow& flow = flows_[linked_[i]];
    // An unchanged rate must leave the time of the flow's end equal to the bit.
    if (rates[i] == flow.rate && rates[i] > 0) continue;
    bring_up_to_now(flow);
    flow.rate = rates[i];
    queue_.schedule(flow.id, event_time(flow));
  }
}

}  // namespace duet::sim
