#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace duet::sim {

// What one unit of a flow's progress takes of a resource.
struct ResourceUse {
  int resource = 0;
  double amount = 1;
};

// What one flow wants of the resources that it uses, and the rate that it gets.
struct MaxMinClaim {
  double weight = 1;  // all rates rise together, in proportion to it
  double cap = std::numeric_limits<double>::infinity();  // the rate never passes it
  int priority = 0;  // a higher one is served first, from the whole capacity
  const std::vector<ResourceUse>* uses = nullptr;
  double rate = 0;  // the result
};

// Weighted max-min sharing of resources, by progressive filling: all rates rise together until a
// resource is full or a cap is reached.
//
// Keeps its working memory between calls. Equal input gives equal output to the bit: everything is
// visited in the order of `claims` and of their uses. The time grows with the number of uses, and
// with its logarithm where all levels differ.
class MaxMin {
 public:
  // Sets the rate of every claim; `capacities` is indexed by resource, per second. A claim that
  // uses nothing gets its cap.
  void solve(const std::vector<double>& capacities, std::vector<MaxMinClaim>& claims);

 private:
  struct ResourceFill {
    double left = 0;   // capacity that no frozen claim has taken
    double slope = 0;  // what the unfrozen claims take more of when the level rises by one
    int unfrozen = 0;
    bool seen = false;
    std::size_t users = 0;  // where they begin, and end, in users_
    std::size_t users_end = 0;
  };
  // What stops some claims from rising further: a resource at the level at which it is full, or a
  // claim, counted from -1 down, at that of its cap.
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
  std::vector<std::size_t> users_;   // claims of the class that is being filled, by resource
  std::vector<char> frozen_;         // by claim
  std::vector<Stop> stops_;          // a heap; a resource's level may have risen since
  std::vector<Stop> reached_;        // at the level that is being filled to
};

}  // namespace duet::sim
