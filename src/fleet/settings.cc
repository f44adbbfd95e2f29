#include "fleet/settings.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace duet {
namespace {

constexpr double kErrorOfAll = 0.01;

double log_choose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

// The probability that of `with` nodes drawn from `all` at least `slow_with` are among `slow`.
double tail(int all, int slow, int with, int slow_with) {
  double sum = 0;
  for (int k = slow_with; k <= std::min(slow, with); ++k) {
    if (with - k > all - slow) continue;
    sum += std::exp(log_choose(slow, k) + log_choose(all - slow, with - k) - log_choose(all, with));
  }
  return std::min(1.0, sum);
}

bool goes_with_slow(const SettingDifference& one) {
  if (one.slow_with < 2 || 2 * one.slow_with < one.with) return false;
  // slow_without / without <= slow_with / with / 5
  return 5.0 * one.slow_without * one.with <= static_cast<double>(one.slow_with) * one.without;
}

}  // namespace

std::vector<SettingDifference> differences_of_slow(const std::vector<Settings>& settings,
                                                   const std::vector<bool>& slow) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> nodes_with;
  for (std::size_t node = 0; node < settings.size(); ++node) {
    for (const auto& value : settings[node]) {
      nodes_with[value].push_back(static_cast<int>(node));
    }
  }
  std::map<std::vector<int>, SettingDifference> by_nodes;
  for (const auto& [value, nodes] : nodes_with) {
    if (nodes.size() < 2 || nodes.size() == settings.size()) continue;
    by_nodes[nodes].values.push_back(value);
  }
  const auto all = static_cast<int>(settings.size());
  const auto all_slow = static_cast<int>(std::count(slow.begin(), slow.end(), true));
  std::vector<SettingDifference> found;
  for (auto& [nodes, one] : by_nodes) {
    one.with = static_cast<int>(nodes.size());
    for (const int node : nodes) one.slow_with += slow[static_cast<std::size_t>(node)] ? 1 : 0;
    one.without = all - one.with;
    one.slow_without = all_slow - one.slow_with;
    one.chance = std::min(
        1.0, tail(all, all_slow, one.with, one.slow_with) * static_cast<double>(by_nodes.size()));
    if (goes_with_slow(one) && one.chance <= kErrorOfAll) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.chance < b.chance; });
  return found;
}

std::vector<OwnSetting> own_settings(const std::vector<Settings>& settings, int node) {
  std::vector<OwnSetting> own;
  for (const auto& [name, value] : settings[static_cast<std::size_t>(node)]) {
    std::map<std::string, std::size_t> counts;
    for (const Settings& each : settings) {
      const auto found = each.find(name);
      if (found != each.end()) ++counts[found->second];
    }
    const auto common =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (counts[value] > 1 || 4 * common->second < 3 * settings.size()) continue;
    own.push_back({name, value, common->first});
  }
  return own;
}

}  // namespace duet
