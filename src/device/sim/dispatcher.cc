// Which groups of blocks start when. A filling kernel's progress is watched: it is counted in
// workgroups.
#include "device/sim/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace duet::sim {
namespace {

double held(const Flow& kernel) {
  const Occupancy& occupancy = kernel.occupancy;
  return occupancy.workgroups > 0 ? std::min(occupancy.units, occupancy.workgroups)
                                  : occupancy.units;
}

bool fills(const Flow& kernel) { return kernel.occupancy.workgroups > kernel.occupancy.units; }

// Left of a kernel when its last wave starts, and that wave's workgroups.
std::pair<double, double> last_wave(const Flow& kernel) {
  const double workgroups = kernel.occupancy.workgroups, units = held(kernel);
  const double waves = std::ceil(workgroups / units - 1e-9);
  return {workgroups / waves, workgroups - (waves - 1) * units};
}

}  // namespace

Dispatcher::Dispatcher(VirtualClock& clock, const DeviceModel& model)
    : clock_(clock),
      order_(model.dispatch),
      units_(model.compute_units),
      grain_(model.unit_grain) {}

Dispatcher::Kernel* Dispatcher::filling(int priority) {
  for (auto& [id, kernel] : kernels_) {
    if (kernel.waiting == 0 && fills(kernel.group) && kernel.group.priority >= priority) {
      return &kernel;
    }
  }
  return nullptr;
}

double Dispatcher::occupied() const {
  double sum = 0;
  for (const auto& [id, kernel] : kernels_) {
    sum += held(kernel.group) * kernel.running;
  }
  return sum;
}

Dispatcher::Id Dispatcher::start(Flow flow, Action done) {
  Kernel* before = filling(flow.priority);
  const bool by_blocks = flow.occupancy.workgroups <= 0;
  const bool queues = before != nullptr && (by_blocks || order_ == DispatchOrder::in_order);
  const double groups =
      queues && by_blocks ? std::max(1.0, std::ceil(flow.occupancy.units / grain_)) : 1;
  const Id id = ++last_;
  Kernel& kernel = kernels_[id];
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

// In order: when the last wave leaves units free. Mixed: what waits of both kernels is dispatched
// evenly, so that both have nothing waiting left at the same time.
void Dispatcher::queue_behind(Kernel& filling, const Kernel& kernel) {
  const double each = held(kernel.group);
  const double free = std::max(0.0, units_ - occupied());
  const int groups = kernel.waiting;
  const int at_once = static_cast<int>(free / each + 1e-9);
  const double left = clock_.left(filling.started.front());
  const double waiting = std::max(0.0, left - held(filling.group));  // of its workgroups
  const auto [last_left, last_workgroups] = last_wave(filling.group);
  const double beside_last = (free + held(filling.group) - last_workgroups) / each + 1e-9;
  for (int group = 1; group <= groups; ++group) {
    double turn = left;
    if (group > at_once && order_ == DispatchOrder::mixed) {
      turn = left - waiting * (group - at_once) / (groups - at_once + 1);
    } else if (group > at_once) {
      turn = group <= beside_last ? last_left : 0;
    }
    filling.turns.emplace(turn, kernel.id);
  }
  watch(filling);
}

// What its end starts needs no watching.
void Dispatcher::watch(const Kernel& filling) {
  if (filling.turns.empty() || filling.turns.begin()->first <= 0) return;
  clock_.watch(filling.started.front(), filling.turns.begin()->first,
               [this, id = filling.id] { give_turns(id); });
}

void Dispatcher::give_turns(Id id) {
  Kernel& filling = kernels_.at(id);
  const double reached = filling.turns.begin()->first;
  while (!filling.turns.empty() && filling.turns.begin()->first >= reached) {
    const Id next = filling.turns.begin()->second;
    filling.turns.erase(filling.turns.begin());
    start_group(next);
  }
  watch(filling);
}

void Dispatcher::start_group(Id id) {
  const auto found = kernels_.find(id);
  if (found == kernels_.end() || found->second.waiting == 0) return;  // cancelled meanwhile
  Kernel& kernel = found->second;
  kernel.started.push_back(0);  // first what may throw
  kernel.started.back() = clock_.start(kernel.group, [this, id] { group_ended(id); });
  --kernel.waiting;
  ++kernel.running;
}

void Dispatcher::group_ended(Id id) {
  Kernel& kernel = kernels_.at(id);
  if (--kernel.running > 0 || kernel.waiting > 0) return;
  const Kernel ended = std::move(kernel);
  kernels_.erase(id);
  start_all_behind(ended);
  ended.done();
}

void Dispatcher::start_all_behind(const Kernel& ended) {
  for (const auto& [turn, id] : ended.turns) start_group(id);
}

void Dispatcher::cancel(Id id) noexcept {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) return;
  const Kernel cancelled = std::move(found->second);
  kernels_.erase(found);
  for (const VirtualClock::Id flow : cancelled.started) clock_.cancel(flow);
  try {
    start_all_behind(cancelled);
  } catch (const std::bad_alloc&) {
    // They do not start; who waits for them hears that nothing is pending.
  }
}

}  // namespace duet::sim
