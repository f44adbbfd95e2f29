#include "gemm/search.h"

#include <algorithm>
#include <array>
#include <set>

namespace duet {
namespace {

constexpr std::int64_t kMultiple = 256;  // a multiple of the tiles that libraries use
using Sides = std::array<std::int64_t, 3>;

class Search {
 public:
  Search(const SearchLimits& limits, const std::function<double(const GemmShape&)>& rate)
      : limits_(limits), rate_(rate) {}

  SearchResult run() {
    for (std::int64_t side = limits_.smallest; side <= limits_.largest; side *= 2) {
      if (!measure({side, side, side})) break;
    }
    for (double factor : {2.0, 1.5}) {
      while (improve(factor)) {
      }
    }
    result_.shape = {best_[0], best_[1], best_[2], {"search"}};
    return result_;
  }

 private:
  // False if the shape has no rate.
  bool measure(const Sides& sides) {
    if (result_.trials >= limits_.trials || !seen_.insert(sides).second) return true;
    ++result_.trials;
    const double rate = rate_({sides[0], sides[1], sides[2], {"search"}});
    if (rate > result_.rate) {
      result_.rate = rate;
      best_ = sides;
    }
    return rate > 0;
  }

  bool improve(double factor) {
    const Sides from = best_;
    for (std::size_t side = 0; side < from.size() && result_.rate > 0; ++side) {
      for (double by : {factor, 1 / factor}) {
        Sides sides = from;
        const auto changed = static_cast<std::int64_t>(static_cast<double>(from[side]) * by);
        sides[side] = changed / kMultiple * kMultiple;
        if (sides[side] >= limits_.smallest && sides[side] <= limits_.largest) measure(sides);
      }
    }
    return best_ != from;
  }

  const SearchLimits& limits_;
  const std::function<double(const GemmShape&)>& rate_;
  std::set<Sides> seen_;
  Sides best_{};
  SearchResult result_;
};

}  // namespace

SearchResult search_shapes(const SearchLimits& limits,
                           const std::function<double(const GemmShape&)>& rate) {
  return Search(limits, rate).run();
}

}  // namespace duet
