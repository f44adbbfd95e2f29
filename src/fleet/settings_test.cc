#include "fleet/settings.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

// 40 nodes; `values` of a setting by node.
template <typename Value>
std::vector<Settings> nodes_with(Value value) {
  std::vector<Settings> settings(40);
  for (int i = 0; i < 40; ++i)
    settings[static_cast<std::size_t>(i)] = {{"kernel", "6.1"}, {"driver", value(i)}};
  return settings;
}

std::vector<bool> slow_nodes(const std::vector<int>& nodes) {
  std::vector<bool> slow(40, false);
  for (const int node : nodes) slow[static_cast<std::size_t>(node)] = true;
  return slow;
}

TEST(FleetSettings, AValueWhoseNodesAreSlowIsNamed) {
  auto settings = nodes_with([](int i) { return i % 10 == 3 ? "570" : "580"; });
  settings[3]["library x"] = settings[13]["library x"] = settings[23]["library x"] =
      settings[33]["library x"] = "2";
  const auto found = differences_of_slow(settings, slow_nodes({3, 13, 23, 33, 7}));
  ASSERT_EQ(found.size(), 1u) << "values of the same nodes are one difference";
  EXPECT_EQ(found[0].values.size(), 2u);
  EXPECT_EQ(found[0].values[0], (std::pair<std::string, std::string>{"driver", "570"}));
  EXPECT_EQ(found[0].slow_with, 4);
  EXPECT_EQ(found[0].with, 4);
  EXPECT_EQ(found[0].slow_without, 1);
  EXPECT_EQ(found[0].without, 36);
  EXPECT_LT(found[0].chance, 1e-3);
}

TEST(FleetSettings, AccidentsAreNotNamed) {
  const auto halves = nodes_with([](int i) { return i < 20 ? "570" : "580"; });
  EXPECT_TRUE(differences_of_slow(halves, slow_nodes({1, 2, 30})).empty());
  EXPECT_TRUE(differences_of_slow(halves, slow_nodes({})).empty());
  const auto pair = nodes_with([](int i) { return i < 2 ? "570" : "580"; });
  EXPECT_TRUE(differences_of_slow(pair, slow_nodes({0, 30})).empty()) << "one of two";
  const auto own = nodes_with([](int i) { return std::to_string(i); });
  EXPECT_TRUE(differences_of_slow(own, slow_nodes({1, 2})).empty());
}

TEST(FleetSettings, AnOwnValueIsOneThatOthersHaveInCommon) {
  const auto settings = nodes_with([](int i) { return i == 5 ? "570" : "580"; });
  const auto own = own_settings(settings, 5);
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].name, "driver");
  EXPECT_EQ(own[0].common, "580");
  EXPECT_TRUE(own_settings(settings, 6).empty());
  const auto each = nodes_with([](int i) { return std::to_string(i); });
  EXPECT_TRUE(own_settings(each, 5).empty());
}

}  // namespace
}  // namespace duet
