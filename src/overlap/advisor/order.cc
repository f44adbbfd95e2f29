// What needs little comes first.
#include "overlap/advisor/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace duet {
namespace {

constexpr double kTileRows = 128, kTileColumns = 256;

}  // namespace

std::vector<std::size_t> order_by_need(const std::vector<WorkNeed>& works) {
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&works](std::size_t a, std::size_t b) {
    return works[a].workgroups < works[b].workgroups;
  });
  return order;
}

double workgroups(const GemmProblem& problem) {
  return std::ceil(static_cast<double>(problem.m) / kTileRows) *
         std::ceil(static_cast<double>(problem.n) / kTileColumns);
}

}  // namespace duet
