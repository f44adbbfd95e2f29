// Differences of drivers, firmware, libraries and settings that go with slow nodes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace duet {

using Settings = std::map<std::string, std::string>;  // value by name

// Values that the same nodes have: name and value.
struct SettingDifference {
  std::vector<std::pair<std::string, std::string>> values;
  int slow_with = 0, with = 0;        // nodes that have the values
  int slow_without = 0, without = 0;  // the others
  double chance = 1;  // that slow nodes are so uneven by accident, for any value of all settings
};

// Values of which at least half of the nodes are slow, two or more, while of the other nodes at
// most a fifth of that share is: by Fisher's exact test, for all values at once with an error of
// 1%. Strongest first. `settings` and `slow` are by node.
std::vector<SettingDifference> differences_of_slow(const std::vector<Settings>& settings,
                                                   const std::vector<bool>& slow);

// Settings whose value the node alone has, where at least three quarters of all nodes have one
// common value: name, value and common value.
struct OwnSetting {
  std::string name, value, common;
};
std::vector<OwnSetting> own_settings(const std::vector<Settings>& settings, int node);

}  // namespace duet
