// Progressive filling: raise the level of all shares until a resource is full or a cap is reached,
// freeze what cannot rise further, go on with the rest.
#include "device/sim/fluid.h"

#include <algorithm>
#include <cmath>

namespace duet::sim {
namespace {

// Bottlenecks whose levels differ by rounding alone are frozen in one step.
constexpr double kTie = 1 + 1e-12;

}  // namespace

void MaxMin::solve(const std::vector<double>& capacities, std::vector<Share>& shares) {
  loads_.resize(capacities.size());
  touched_.clear();
  std::vector<int> priorities;
  for (const Share& share : shares) {
    for (const Use& use : *share.uses) {
      Load& load = loads_[static_cast<std::size_t>(use.resource)];
      if (load.seen) continue;
      load = {capacities[static_cast<std::size_t>(use.resource)], 0, 0, true};
      touched_.push_back(use.resource);
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
  for (int resource : touched_) loads_[static_cast<std::size_t>(resource)].seen = false;
}

void MaxMin::fill(std::vector<Share>& shares, const std::vector<std::size_t>& group) {
  for (std::size_t i : group) {
    for (const Use& use : *shares[i].uses) {
      Load& load = loads_[static_cast<std::size_t>(use.resource)];
      load.slope += use.amount * shares[i].weight;
      ++load.unfrozen;
    }
  }
  unfrozen_ = group;
  while (!unfrozen_.empty()) {
    const double level = next_level(shares);
    const auto held_back = [&](const Share& share) {
      if (share.cap <= share.weight * level * kTie) return true;
      return std::any_of(share.uses->begin(), share.uses->end(), [&](const Use& use) {
        const Load& load = loads_[static_cast<std::size_t>(use.resource)];
        return use.amount > 0 && load.left <= load.slope * level * kTie;
      });
    };
    // Decide for all before freezing any: freezing changes what the decision looks at.
    const auto rest = std::stable_partition(unfrozen_.begin(), unfrozen_.end(),
                                            [&](std::size_t i) { return !held_back(shares[i]); });
    const bool stuck = rest == unfrozen_.end();  // only if the input holds NaN: end all the same
    for (auto it = stuck ? unfrozen_.begin() : rest; it != unfrozen_.end(); ++it) {
      Share& share = shares[*it];
      share.rate = std::min(share.cap, share.weight * level);
      freeze(share);
    }
    unfrozen_.erase(stuck ? unfrozen_.begin() : rest, unfrozen_.end());
  }
}

double MaxMin::next_level(const std::vector<Share>& shares) const {
  double level = std::numeric_limits<double>::infinity();
  for (int resource : touched_) {
    const Load& load = loads_[static_cast<std::size_t>(resource)];
    if (load.unfrozen > 0 && load.slope > 0) level = std::min(level, load.left / load.slope);
  }
  for (std::size_t i : unfrozen_) level = std::min(level, shares[i].cap / shares[i].weight);
  return level;
}

void MaxMin::freeze(const Share& share) {
  for (const Use& use : *share.uses) {
    Load& load = loads_[static_cast<std::size_t>(use.resource)];
    load.left = std::max(0.0, load.left - use.amount * share.rate);
    // With nobody left the slope is nought, whatever rounding has made of it.
    load.slope = --load.unfrozen == 0 ? 0 : load.slope - use.amount * share.weight;
  }
}

}  // namespace duet::sim
