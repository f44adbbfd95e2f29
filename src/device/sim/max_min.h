#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace duet::sim {

// The amount of a resource that one unit of a flow's progress takes.
struct ResourceUse {
  int resource = 0;
  double amount = 1;
};

// The claim of one flow on the resources that it uses, and the rate that it gets.
struct MaxMinClaim {
  double weight = 1;  // all rates rise together, in proportion to their weights
  double cap = std::numeric_limits<double>::infinity();  // upper limit of the rate
  int priority = 0;  // claims of a higher priority are served first, from the whole capacity
  const std::vector<ResourceUse>* uses = nullptr;
  double rate = 0;  // the result
};

// Weighted max-min sharing of resources, by progressive filling: all rates rise together until a
// resource is full or a cap is reached.
//
// Equal input gives equal output to the bit: everything is visited in the order of `claims` and of
// their uses. The time grows with the number n of uses, or with n log n where all levels differ.
// The object only keeps working memory between calls.
class MaxMin {
 public:
  // Sets the rate of every claim. `capacities` are per second, by resource. A claim that uses no
  // resource gets its cap.
  void solve(const std::vector<double>& capacities, std::vector<MaxMinClaim>& claims);

 private:
  struct ResourceFill {
    double left = 0;   // capacity that no frozen claim has taken
    double slope = 0;  // capacity that the unfrozen claims take per unit of the level
    int unfrozen = 0;  // claims that use the resource and can still rise
    bool seen = false;
    std::size_t users = 0;      // where its claims begin in users_
    std::size_t users_end = 0;  // and end
  };
  // A limit that stops claims from rising further, and its level: that at which resource `which` is
  // full or, if `which` is negative, that at which claim -1 - `which` reaches its cap.
  struct Stop {
    double level;
    std::ptrdiff_t which;
    bool operator>(const Stop& other) const {
      return level != other.level ? level > other.level : which > other.which;
    }
  };

  ResourceFill& fill_of(const ResourceUse& use) {
    return fills_[static_cast<std::size_t>(use.resource)];
  }
  void fill(std::vector<MaxMinClaim>& claims, const std::vector<std::size_t>& group);
  void list_users(const std::vector<MaxMinClaim>& claims, const std::vector<std::size_t>& group);
  void list_stops(std::vector<MaxMinClaim>& claims, const std::vector<std::size_t>& group);
  bool is_over(const Stop& stop) const;
  double level_of(const Stop& stop) const;
  bool next_stops();
  void freeze(std::vector<MaxMinClaim>& claims, std::size_t claim, double level);

  std::vector<ResourceFill> fills_;  // by resource
  std::vector<int> touched_;         // resources that any claim uses
  std::vector<std::size_t> users_;   // by resource: its claims of the priority being filled
  std::vector<char> frozen_;         // by claim: it has its rate
  std::vector<Stop> stops_;          // a heap; the true level of a resource may be higher by now
  std::vector<Stop> reached_;        // the stops at the current level
};

}  // namespace duet::sim
