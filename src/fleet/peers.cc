#include "fleet/peers.h"

#include <algorithm>
#include <cmath>

namespace duet {
namespace {

constexpr double kUsualWeight = 4;  // degrees of freedom
// Those of one value: a median deviation is less efficient than a standard deviation.
constexpr double kMadFreedom = 0.37;

}  // namespace

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double robust_deviation(std::vector<double> values, double middle, std::size_t compared) {
  constexpr double kNormal = 1.4826;  // standard deviations in either
  std::vector<double> away;
  for (const double value : values) away.push_back(std::fabs(value - middle));
  const auto quartile = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quartile, values.end());
  const double deviation = std::max(middle_of(std::move(away)), middle - *quartile);
  return kNormal * deviation * (1 + 2.3 / static_cast<double>(compared));
}

Peers peers_of(const std::vector<double>& values, double usual, std::size_t compared) {
  Peers peers;
  peers.middle = middle_of(values);
  const double deviation = robust_deviation(values, peers.middle, compared);
  const double seen = kMadFreedom * static_cast<double>(values.size() - 1);
  peers.freedom = kUsualWeight + seen;
  peers.variance = (kUsualWeight * usual + seen * deviation * deviation) / peers.freedom;
  return peers;
}

}  // namespace duet
