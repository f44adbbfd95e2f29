// Weighted max-min sharing of resources between flows, by progressive filling. Pure arithmetic:
// time and events are clock.h's.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace duet::sim {

// What one unit of a flow's progress takes of a resource.
struct Use {
  int resource = 0;
  double amount = 1;
};

struct Share {
  double weight = 1;  // all rates rise together, in proportion to it
  double cap = std::numeric_limits<double>::infinity();  // the rate never passes it
  int priority = 0;  // a higher one is served first, from the whole capacity
  const std::vector<Use>* uses = nullptr;
  double rate = 0;  // the result
};

// Keeps its working memory between calls. Equal input gives equal output to the bit: everything is
// visited in the order of `shares` and of their uses.
class MaxMin {
 public:
  // Sets the rate of every share; `capacities` is indexed by resource, per second. A share that
  // uses nothing gets its cap.
  void solve(const std::vector<double>& capacities, std::vector<Share>& shares);

 private:
  struct Load {
    double left = 0;   // capacity that no frozen share has taken
    double slope = 0;  // what the unfrozen shares take more of when the level rises by one
    int unfrozen = 0;
    bool seen = false;
  };

  void fill(std::vector<Share>& shares, const std::vector<std::size_t>& group);
  double next_level(const std::vector<Share>& shares) const;
  void freeze(const Share& share);

  std::vector<Load> loads_;            // by resource
  std::vector<int> touched_;           // resources that any share uses
  std::vector<std::size_t> unfrozen_;  // shares of the class that is being filled
};

}  // namespace duet::sim
