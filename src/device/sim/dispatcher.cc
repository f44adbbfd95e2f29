#include "device/sim/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace duet::sim {
namespace {

double units_held(const Flow& kernel) {
  const Occupancy& occupancy = kernel.occupancy;
  return occupancy.workgroups > 0 ? std::min(occupancy.units, occupancy.workgroups)
                                  : occupancy.units;
}

bool fills(const Flow& kernel) { return kernel.occupancy.workgroups > kernel.occupancy.units; }

// The amount of a kernel that is left when its last wave starts, and that wave's workgroups.
std::pair<double, double> last_wave(const Flow& kernel) {
  const double workgroups = kernel.occupancy.workgroups, units = units_held(kernel);
  const double waves = std::ceil(workgroups / units - 1e-9);
  return {workgroups / waves, workgroups - (waves - 1) * units};
}

}  // namespace

Dispatcher::Dispatcher(VirtualClock& clock, const DeviceModel& model)
    : clock_(clock),
      order_(model.dispatch),
      units_(model.compute_units),
      grain_(model.unit_grain) {}

// The kernel behind which a kernel of this priority queues, because it fills the device; nullptr if
// there is none.
Dispatcher::DispatchedKernel* Dispatcher::filling_kernel(int priority) {
  for (auto& [id, kernel] : kernels_) {
    if (kernel.waiting == 0 && fills(kernel.group) && kernel.group.priority >= priority) {
      return &kernel;
    }
  }
  return nullptr;
}

// Compute units that running groups hold.
double Dispatcher::occupied() const {
  double sum = 0;
  for (const auto& [id, kernel] : kernels_) {
    sum += units_held(kernel.group) * kernel.running;
  }
  return sum;
}

Dispatcher::Id Dispatcher::start(Flow flow, Action done) {
  DispatchedKernel* before = filling_kernel(flow.priority);
  const bool by_blocks = flow.occupancy.workgroups <= 0;
  const bool queues = before != nullptr && (by_blocks || order_ == DispatchOrder::in_order);
  const double groups =
      queues && by_blocks ? std::max(1.0, std::ceil(flow.occupancy.units / grain_)) : 1;
  const Id id = ++last_id_;
  DispatchedKernel& kernel = kernels_[id];
  kernel.id = id;
  kernel.group = std::move(flow);
  kernel.group.amount /= groups;
  kernel.group.occupancy.units /= groups;
  kernel.waiting = static_cast<int>(groups);
  kernel.done = std::move(done);
  try {
    queues ? queue_behind(*before, kernel) : start_group(id);
  } catch (...) {
    kernels_.erase(id);
    throw;
  }
  return id;
}

// DispatchOrder::in_order: groups start when the filling kernel's last wave leaves units free.
// DispatchOrder::mixed: the waiting workgroups of both kernels are dispatched evenly, so that the
// last ones of both start at the same time.
void Dispatcher::queue_behind(DispatchedKernel& filling_kernel, const DispatchedKernel& kernel) {
  const double group_units = units_held(kernel.group);
  const double free = std::max(0.0, units_ - occupied());
  const int groups = kernel.waiting;
  const int at_once = static_cast<int>(free / group_units + 1e-9);
  const double left = clock_.left(filling_kernel.started.front());
  const double waiting = std::max(0.0, left - units_held(filling_kernel.group));  // workgroups
  const auto [last_left, last_workgroups] = last_wave(filling_kernel.group);
  const double beside_last =
      (free + units_held(filling_kernel.group) - last_workgroups) / group_units + 1e-9;
  for (int group = 1; group <= groups; ++group) {
    double start_at = left;
    if (group > at_once && order_ == DispatchOrder::mixed) {
      start_at = left - waiting * (group - at_once) / (groups - at_once + 1);
    } else if (group > at_once) {
      start_at = group <= beside_last ? last_left : 0;
    }
    filling_kernel.queued_groups.emplace(start_at, kernel.id);
  }
  watch_next_start(filling_kernel);
}

// Groups that start at the filling kernel's end (0 left) are started by group_ended().
void Dispatcher::watch_next_start(const DispatchedKernel& filling_kernel) {
  if (filling_kernel.queued_groups.empty() || filling_kernel.queued_groups.begin()->first <= 0)
    return;
  clock_.watch(filling_kernel.started.front(), filling_kernel.queued_groups.begin()->first,
               [this, id = filling_kernel.id] { start_reached_groups(id); });
}

void Dispatcher::start_reached_groups(Id id) {
  DispatchedKernel& filling_kernel = kernels_.at(id);
  const double reached = filling_kernel.queued_groups.begin()->first;
  while (!filling_kernel.queued_groups.empty() &&
         filling_kernel.queued_groups.begin()->first >= reached) {
    const Id next = filling_kernel.queued_groups.begin()->second;
    filling_kernel.queued_groups.erase(filling_kernel.queued_groups.begin());
    start_group(next);
  }
  watch_next_start(filling_kernel);
}

void Dispatcher::start_group(Id id) {
  const auto found = kernels_.find(id);
  if (found == kernels_.end() || found->second.waiting == 0) return;  // cancelled meanwhile
  DispatchedKernel& kernel = found->second;
  kernel.started.push_back(0);  // before the flow starts, because it may throw
  kernel.started.back() = clock_.start(kernel.group, [this, id] { group_ended(id); });
  --kernel.waiting;
  ++kernel.running;
}

void Dispatcher::group_ended(Id id) {
  DispatchedKernel& kernel = kernels_.at(id);
  if (--kernel.running > 0 || kernel.waiting > 0) return;
  const DispatchedKernel ended = std::move(kernel);
  kernels_.erase(id);
  start_all_queued(ended);
  ended.done();
}

void Dispatcher::start_all_queued(const DispatchedKernel& ended) {
  for (const auto& [start_at, id] : ended.queued_groups) start_group(id);
}

void Dispatcher::cancel(Id id) noexcept {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) return;
  const DispatchedKernel cancelled = std::move(found->second);
  kernels_.erase(found);
  for (const VirtualClock::Id flow : cancelled.started) clock_.cancel(flow);
  try {
    start_all_queued(cancelled);
  } catch (const std::bad_alloc&) {
    // The queued groups do not start. A wait for their kernels ends as a deadlock.
  }
}

}  // namespace duet::sim
