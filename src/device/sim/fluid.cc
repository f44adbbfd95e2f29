// Progressive filling: raise the level of all shares until a resource is full or a cap is reached,
// freeze what cannot rise further, go on with the rest. What stops next is on top of a heap.
#include "device/sim/fluid.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace duet::sim {
namespace {

// Bottlenecks whose levels differ by rounding alone are frozen in one step.
constexpr double kTie = 1 + 1e-12;

}  // namespace

// What the call before has left, which may have ended for want of memory, is cleared first.
void MaxMin::solve(const std::vector<double>& capacities, std::vector<Share>& shares) {
  loads_.resize(capacities.size());
  for (int resource : touched_) loads_[static_cast<std::size_t>(resource)].seen = false;
  touched_.clear();
  std::vector<int> priorities;
  for (const Share& share : shares) {
    for (const Use& use : *share.uses) {
      Load& load = loads_[static_cast<std::size_t>(use.resource)];
      if (load.seen) continue;
      touched_.push_back(use.resource);
      load = {capacities[static_cast<std::size_t>(use.resource)], 0, 0, true, 0, 0};
    }
    if (std::find(priorities.begin(), priorities.end(), share.priority) == priorities.end()) {
      priorities.push_back(share.priority);
    }
  }
  std::sort(priorities.rbegin(), priorities.rend());
  std::vector<std::size_t> group;
  for (int priority : priorities) {
    group.clear();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].priority == priority) group.push_back(i);
    }
    fill(shares, group);
  }
}

void MaxMin::fill(std::vector<Share>& shares, const std::vector<std::size_t>& group) {
  list_users(shares, group);
  list_stops(shares, group);
  while (next_stops()) {
    const double level = reached_.front().level;
    for (const Stop& stop : reached_) {
      if (stop.which < 0) {
        freeze(shares, static_cast<std::size_t>(-1 - stop.which), level);
        continue;
      }
      const Load& full = loads_[static_cast<std::size_t>(stop.which)];
      for (std::size_t i = full.users; i < full.users_end; ++i) {
        freeze(shares, users_[i], level);
      }
    }
  }
}

void MaxMin::list_users(const std::vector<Share>& shares, const std::vector<std::size_t>& group) {
  for (int resource : touched_) {
    Load& each = loads_[static_cast<std::size_t>(resource)];
    each.slope = each.unfrozen = 0;
  }
  frozen_.assign(shares.size(), true);
  for (std::size_t i : group) {
    frozen_[i] = false;
    for (const Use& use : *shares[i].uses) {
      if (use.amount <= 0) continue;
      load(use).slope += use.amount * shares[i].weight;
      ++load(use).unfrozen;
    }
  }
  std::size_t end = 0;
  for (int resource : touched_) {
    Load& each = loads_[static_cast<std::size_t>(resource)];
    each.users = each.users_end = end;
    end += static_cast<std::size_t>(each.unfrozen);
  }
  users_.resize(end);
  for (std::size_t i : group) {
    for (const Use& use : *shares[i].uses) {
      if (use.amount > 0) users_[load(use).users_end++] = i;
    }
  }
}

void MaxMin::list_stops(std::vector<Share>& shares, const std::vector<std::size_t>& group) {
  stops_.clear();
  for (int resource : touched_) {
    const Stop stop{0, resource};
    if (!is_over(stop)) stops_.push_back({level_of(stop), resource});
  }
  for (std::size_t i : group) {
    Share& share = shares[i];
    share.rate = share.cap;  // unless something stops it before
    if (share.cap == std::numeric_limits<double>::infinity()) continue;
    stops_.push_back({share.cap / share.weight, -1 - static_cast<std::ptrdiff_t>(i)});
  }
  std::make_heap(stops_.begin(), stops_.end(), std::greater<>());
}

// Nobody is left whom it could hold back.
bool MaxMin::is_over(const Stop& stop) const {
  if (stop.which < 0) return frozen_[static_cast<std::size_t>(-1 - stop.which)];
  return loads_[static_cast<std::size_t>(stop.which)].unfrozen == 0;
}

double MaxMin::level_of(const Stop& stop) const {
  if (stop.which < 0) return stop.level;
  const Load& load = loads_[static_cast<std::size_t>(stop.which)];
  return load.left / load.slope;
}

// All that stop at the lowest level, before any share is frozen there: freezing changes what the
// others' levels are.
bool MaxMin::next_stops() {
  reached_.clear();
  while (!stops_.empty()) {
    const Stop lowest = stops_.front();
    if (!reached_.empty() && lowest.level > reached_.front().level * kTie) break;
    std::pop_heap(stops_.begin(), stops_.end(), std::greater<>());
    stops_.pop_back();
    if (is_over(lowest)) continue;
    const double level = level_of(lowest);
    if (level > lowest.level * kTie) {
      stops_.push_back({level, lowest.which});
      std::push_heap(stops_.begin(), stops_.end(), std::greater<>());
      continue;
    }
    reached_.push_back({std::min(level, lowest.level), lowest.which});
  }
  return !reached_.empty();
}

void MaxMin::freeze(std::vector<Share>& shares, std::size_t index, double level) {
  if (std::exchange(frozen_[index], true)) return;
  Share& share = shares[index];
  share.rate = std::min(share.cap, share.weight * level);
  for (const Use& use : *share.uses) {
    if (use.amount <= 0) continue;
    Load& each = load(use);
    each.left = std::max(0.0, each.left - use.amount * share.rate);
    // With nobody left the slope is nought, whatever rounding has made of it.
    each.slope = --each.unfrozen == 0 ? 0 : each.slope - use.amount * share.weight;
  }
}

}  // namespace duet::sim
