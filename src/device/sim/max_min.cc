// Progressive filling: the level of all claims rises until a resource is full or a cap is reached.
// Claims that cannot rise further are frozen, and the level of the others rises on. A heap has the
// next stop on top.
#include "device/sim/max_min.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace duet::sim {
namespace {

// Bottlenecks whose levels differ by rounding alone are frozen in one step.
constexpr double kTie = 1 + 1e-12;

}  // namespace

// Clears the state of the call before first, because that may have ended with std::bad_alloc.
void MaxMin::solve(const std::vector<double>& capacities, std::vector<MaxMinClaim>& claims) {
  fills_.resize(capacities.size());
  for (int resource : touched_) fills_[static_cast<std::size_t>(resource)].seen = false;
  touched_.clear();
  std::vector<int> priorities;
  for (const MaxMinClaim& claim : claims) {
    for (const ResourceUse& use : *claim.uses) {
      ResourceFill& each = fills_[static_cast<std::size_t>(use.resource)];
      if (each.seen) continue;
      touched_.push_back(use.resource);
      each = {capacities[static_cast<std::size_t>(use.resource)], 0, 0, true, 0, 0};
    }
    if (std::find(priorities.begin(), priorities.end(), claim.priority) == priorities.end()) {
      priorities.push_back(claim.priority);
    }
  }
  std::sort(priorities.rbegin(), priorities.rend());
  std::vector<std::size_t> group;
  for (int priority : priorities) {
    group.clear();
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (claims[i].priority == priority) group.push_back(i);
    }
    fill(claims, group);
  }
}

void MaxMin::fill(std::vector<MaxMinClaim>& claims, const std::vector<std::size_t>& group) {
  list_users(claims, group);
  list_stops(claims, group);
  while (next_stops()) {
    const double level = reached_.front().level;
    for (const Stop& stop : reached_) {
      if (stop.which < 0) {
        freeze(claims, static_cast<std::size_t>(-1 - stop.which), level);
        continue;
      }
      const ResourceFill& full = fills_[static_cast<std::size_t>(stop.which)];
      for (std::size_t i = full.users; i < full.users_end; ++i) {
        freeze(claims, users_[i], level);
      }
    }
  }
}

void MaxMin::list_users(const std::vector<MaxMinClaim>& claims,
                        const std::vector<std::size_t>& group) {
  for (int resource : touched_) {
    ResourceFill& each = fills_[static_cast<std::size_t>(resource)];
    each.slope = each.unfrozen = 0;
  }
  frozen_.assign(claims.size(), true);
  for (std::size_t i : group) {
    frozen_[i] = false;
    for (const ResourceUse& use : *claims[i].uses) {
      if (use.amount <= 0) continue;
      fill_of(use).slope += use.amount * claims[i].weight;
      ++fill_of(use).unfrozen;
    }
  }
  std::size_t end = 0;
  for (int resource : touched_) {
    ResourceFill& each = fills_[static_cast<std::size_t>(resource)];
    each.users = each.users_end = end;
    end += static_cast<std::size_t>(each.unfrozen);
  }
  users_.resize(end);
  for (std::size_t i : group) {
    for (const ResourceUse& use : *claims[i].uses) {
      if (use.amount > 0) users_[fill_of(use).users_end++] = i;
    }
  }
}

void MaxMin::list_stops(std::vector<MaxMinClaim>& claims, const std::vector<std::size_t>& group) {
  stops_.clear();
  for (int resource : touched_) {
    const Stop stop{0, resource};
    if (!is_over(stop)) stops_.push_back({level_of(stop), resource});
  }
  for (std::size_t i : group) {
    MaxMinClaim& claim = claims[i];
    claim.rate = claim.cap;  // unless another stop comes before
    if (claim.cap == std::numeric_limits<double>::infinity()) continue;
    stops_.push_back({claim.cap / claim.weight, -1 - static_cast<std::ptrdiff_t>(i)});
  }
  std::make_heap(stops_.begin(), stops_.end(), std::greater<>());
}

// Whether the stop has no claim left that could rise.
bool MaxMin::is_over(const Stop& stop) const {
  if (stop.which < 0) return frozen_[static_cast<std::size_t>(-1 - stop.which)];
  return fills_[static_cast<std::size_t>(stop.which)].unfrozen == 0;
}

double MaxMin::level_of(const Stop& stop) const {
  if (stop.which < 0) return stop.level;
  const ResourceFill& each = fills_[static_cast<std::size_t>(stop.which)];
  return each.left / each.slope;
}

// Collects all stops at the lowest level, before any claim is frozen there, because freezing
// changes the levels of other stops. Returns false if there are none.
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

void MaxMin::freeze(std::vector<MaxMinClaim>& claims, std::size_t index, double level) {
  if (std::exchange(frozen_[index], true)) return;
  MaxMinClaim& claim = claims[index];
  claim.rate = std::min(claim.cap, claim.weight * level);
  for (const ResourceUse& use : *claim.uses) {
    if (use.amount <= 0) continue;
    ResourceFill& each = fill_of(use);
    each.left = std::max(0.0, each.left - use.amount * claim.rate);
    // Without unfrozen claims the slope is 0; the subtraction may leave a rounding error.
    each.slope = --each.unfrozen == 0 ? 0 : each.slope - use.amount * claim.weight;
  }
}

}  // namespace duet::sim
